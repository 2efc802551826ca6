#!/bin/bash
# Builds the boot image from Debian packages: base ISO, kernel and initramfs pair, manifest.
# The same packages, agent and recipe give the same bytes. Needs no root; installs nothing.
#
#   build.sh --agent FILE --out DIR [--cache DIR] [--packages DIR]
#
# --agent     static init of the image
# --out       gets leaseless.iso, vmlinuz, initramfs.gz and manifest.json, each replaced as a whole
# --cache     keeps downloaded packages (default: ~/.cache/leaseless/image)
# --packages  takes exactly the .deb files there, and asks no mirror
set -euo pipefail
export LC_ALL=C TZ=UTC
umask 022

recipe=$(cd "$(dirname "$0")" && pwd)
agent= out= packages= cache=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/leaseless/image
while [ $# -gt 0 ]; do
  case $1 in
    --agent | --out | --cache | --packages) declare "${1#--}=${2:?$1 needs a value}"; shift 2 ;;
    *) echo "build.sh: unknown argument $1" >&2; exit 64 ;;
  esac
done
: "${agent:?--agent is missing}" "${out:?--out is missing}"

# Layout of what differs from host to host; each is an extent of the manifest.
segment_bytes=65536
network_data_bytes=32768
meta_data_bytes=8192
kernel_args_bytes=1024
# Least memory that boots (docs/boot-media.md, "Memory").
bios_mib=256 uefi_mib=384
# "quiet": a serial line at 115200 baud takes seconds for the kernel's own messages.
kernel_args="console=tty0 console=ttyS0,115200n8 quiet panic=60"

kernel_package=linux-image-amd64
boot_packages="shim-signed shim-helpers-amd64-signed grub-efi-amd64-signed isolinux syslinux-common"
# The driver takes this older firmware only where the newer one beside it is missing.
superseded_firmware='^bnx2x/.*-7\.13\.15\.0\.fw$'
firmware_packages="firmware-bnx2 firmware-bnx2x firmware-misc-nonfree firmware-qlogic firmware-realtek"

say() { echo "image: $*" >&2; }
fail() { say "$*"; exit 1; }

need_tools() {
  local missing=()
  while read -r tool package; do
    PATH=$PATH:/usr/sbin:/sbin command -v "$tool" >/dev/null || missing+=("$package")
  done <<-TOOLS
	xorriso xorriso
	mcopy mtools
	mkfs.vfat dosfstools
	zstd zstd
	cpio cpio
	depmod kmod
	dpkg-deb dpkg
	TOOLS
  [ ${#missing[@]} = 0 ] || fail "tools are missing: apt-get install ${missing[*]}"
  export PATH=$PATH:/usr/sbin:/sbin
}

# The machine's Debian mirrors, with the firmware's component beside main, and state of our own:
# nothing below /etc/apt or /var/lib changes.
apt_private() {
  local state=$work/apt
  mkdir -p "$state/lists/partial" "$state/archives/partial"
  : >"$state/status"
  apt-get indextargets --format '$(ORIGIN)|$(REPO_URI)|$(RELEASE)|$(COMPONENT)|$(CREATED_BY)' |
    sed -n 's/^Debian|\([^|]*\)|\([^|]*\)|main|Packages$/deb [signed-by=\/usr\/share\/keyrings\/debian-archive-keyring.gpg] \1 \2 main non-free-firmware/p' |
    sort -u >"$state/sources.list"
  [ -s "$state/sources.list" ] || fail "apt knows no Debian mirror: run apt-get update"
  apt_options=(-qq -o "Dir::State=$state" -o "Dir::State::status=$state/status" -o "Dir::Cache=$state"
    -o "Dir::Etc::sourcelist=$state/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o Acquire::Languages=none -o APT::Sandbox::User="$(id -un)" -o APT::Get::List-Cleanup=false)
}

# Puts one .deb of each package into $debs.
fetch() {
  apt_private
  apt-get "${apt_options[@]}" update || fail "reading the package lists failed"
  local kernel
  kernel=$(apt-cache "${apt_options[@]}" depends "$kernel_package" |
    sed -n 's/^ *Depends: \(linux-image-[0-9].*\)$/\1/p' | head -n1)
  [ -n "$kernel" ] || fail "$kernel_package names no kernel"
  mkdir -p "$cache" "$debs"
  local files file missing=()
  # "'URI' NAME SIZE HASH" a package: the name tells whether the cache has this version.
  # shellcheck disable=SC2086
  files=$(apt-get "${apt_options[@]}" --print-uris download $kernel $boot_packages $firmware_packages |
    awk '{ print $2 }') || fail "the mirrors lack a package"
  for file in $files; do [ -f "$cache/$file" ] || missing+=("${file%%_*}"); done
  if [ ${#missing[@]} -gt 0 ]; then
    say "fetching ${missing[*]}"
    (cd "$work/apt/archives" && apt-get "${apt_options[@]}" download "${missing[@]}")
    mv "$work"/apt/archives/*.deb "$cache/"
  fi
  for file in $files; do ln -s "$(realpath "$cache/$file")" "$debs/$file"; done
}

unpack() {
  local deb
  for deb in "$debs"/*.deb; do dpkg-deb -x "$deb" "$root"; done
  release=$(basename "$root"/boot/vmlinuz-*) && release=${release#vmlinuz-}
  [ -f "$root/boot/vmlinuz-$release" ] || fail "the packages hold no kernel, or two"
  # The kernel's own date stands for every date in the image.
  export SOURCE_DATE_EPOCH
  SOURCE_DATE_EPOCH=$(stat -c %Y "$root/boot/vmlinuz-$release")
}

# Copies the listed modules and what they need, with the indexes that the agent reads.
add_modules() {
  local modules=lib/modules/$release names
  depmod -b "$root" "$release"
  names=$(sed 's/#.*//' "$recipe/modules.txt")
  # shellcheck disable=SC2086
  modprobe -C /dev/null -d "$root" -S "$release" -a --show-depends $names >"$work/insmod" ||
    fail "modules.txt names modules that $release does not have"
  sed -n "s|^insmod $root/\([^ ]*\) *\$|\1|p" "$work/insmod" | sort -u >"$work/modules"
  (cd "$root" && cpio --quiet -pdm "$tree" <"$work/modules")
  cp "$root/$modules"/modules.{builtin,builtin.modinfo,order} "$tree/$modules/"
  depmod -b "$tree" "$release"
  # The agent reads these three as text; the rest is for kmod.
  find "$tree/$modules" -maxdepth 1 -type f ! -name modules.alias ! -name modules.dep \
    ! -name modules.softdep -delete
}

# Copies the firmware that the modules name, links followed by their targets.
add_firmware() {
  local name file
  (cd "$tree" && xargs modinfo -F firmware <"$work/modules") | grep -v "$superseded_firmware" | sort -u >"$work/firmware"
  while read -r name; do
    file=$root/lib/firmware/$name
    if [ -e "$file" ]; then
      mkdir -p "$tree/lib/firmware/$(dirname "$name")"
      cp --dereference --preserve=timestamps "$file" "$tree/lib/firmware/$name"
    fi
  done <"$work/firmware"
}

# The initramfs, uncompressed. Its last file tells the agent that memory sufficed for all of it.
make_archive() {
  mkdir -p "$tree"/{dev,proc,sys,run,tmp,leaseless}
  install -m 755 "$agent" "$tree/init"
  echo "$release" >"$tree/leaseless/complete"
  find "$tree" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
  (cd "$tree" && {
    # Where memory runs out while this is unpacked, the event log should still be within reach:
    # directories, then what the agent needs to load and speak to the BMC, then the rest.
    {
      find . -mindepth 1 -type d | sort
      find . -type f \( -path ./init -o -path '*/modules.*' -o -path '*/char/ipmi/*' \) | sort
      find . -mindepth 1 ! -path ./leaseless/complete | sort
      echo ./leaseless/complete
    } | sed 's|^\./||' | awk '!seen[$0]++'
  } | cpio --quiet --reproducible -o -H newc -R 0:0) >"$work/initramfs.cpio"
}

make_esp() {
  local esp=$1 shim=$root/usr/lib/shim boot=$work/esp
  mkdir -p "$boot"
  cp "$shim/shimx64.efi.signed" "$boot/BOOTX64.EFI"
  cp "$shim/mmx64.efi.signed" "$boot/mmx64.efi"
  # GRUB's image for CDs: it finds the disc by /.disk/info and reads /boot/grub/grub.cfg there.
  cp "$root/usr/lib/grub/x86_64-efi-signed/gcdx64.efi.signed" "$boot/grubx64.efi"
  find "$boot" -exec touch -d "@$SOURCE_DATE_EPOCH" {} +
  # The files alone, and what FAT12 needs beside them.
  mkfs.vfat --invariant -F 12 -s 4 -i 1ea5e1e5 -n LEASELESS -C "$esp" $(($(du -k --apparent-size -s "$boot" | cut -f1) + 48)) >/dev/null
  mmd -i "$esp" ::/EFI ::/EFI/BOOT
  mcopy -m -i "$esp" "$boot"/* ::/EFI/BOOT/
}

# A loader's configuration. The host's arguments go over the "#" line: a comment until then.
configure() {
  local field
  field=$(printf '%*s' $((kernel_args_bytes - 16)) '' | tr ' ' '#')
  sed -e "s|@ARGS@|$kernel_args|; s|@UEFI_MIB@|$uefi_mib|; s|@HOST_ARGS@|\n#leaseless:host$field|" "$1"
}

make_iso() {
  local disc=$work/disc
  mkdir -p "$disc"/{.disk,isolinux,boot/grub,openstack/latest}
  echo "leaseless $release" >"$disc/.disk/info"
  cp "$root/boot/vmlinuz-$release" "$disc/vmlinuz"
  zstd --quiet --ultra -22 --threads=1 "$work/initramfs.cpio" -o "$disc/initrd"
  head -c "$segment_bytes" /dev/zero >"$disc/host.img"
  # Blanks after the value keep the JSON valid.
  printf "%-${network_data_bytes}s" '{}' >"$disc/openstack/latest/network_data.json"
  printf "%-${meta_data_bytes}s" '{}' >"$disc/openstack/latest/meta_data.json"
  cp "$root/usr/lib/ISOLINUX/isolinux.bin" "$root/usr/lib/syslinux/modules/bios/ldlinux.c32" "$disc/isolinux/"
  configure "$recipe/isolinux.cfg" >"$disc/isolinux/isolinux.cfg"
  configure "$recipe/grub.cfg" >"$disc/boot/grub/grub.cfg"
  make_esp "$disc/boot/esp.img"
  find "$disc" -exec touch -d "@$SOURCE_DATE_EPOCH" {} +
  xorriso -report_about WARNING -as mkisofs -quiet -o "$work/leaseless.iso" -V config-2 -r -publisher '' \
    -b isolinux/isolinux.bin -c isolinux/boot.cat -no-emul-boot -boot-load-size 4 -boot-info-table \
    -isohybrid-mbr "$root/usr/lib/ISOLINUX/isohdpfx.bin" \
    -eltorito-alt-boot -e boot/esp.img -no-emul-boot -isohybrid-gpt-basdat -partition_cyl_align off -no-pad "$disc"
}

# {"offset": N, "length": N} of a file of the ISO.
extent() {
  xorriso -report_about WARNING -indev "$work/leaseless.iso" -find "$1" -exec report_lba -- 2>/dev/null |
    awk -F, '/^File data lba/ { printf "{\"offset\": %d, \"length\": %d}", $2 * 2048, $4; n++ } END { exit n != 1 }' ||
    fail "the ISO has no single extent of $1"
}

# The field for the host's kernel arguments in a loader's configuration.
args_extent() {
  local file in_file
  file=$(extent "$1" | sed 's/[^0-9]*\([0-9]*\).*/\1/')
  in_file=$(grep -abo '#leaseless:host' "$work/disc$1" | cut -d: -f1)
  echo "{\"offset\": $((file + in_file - 1)), \"length\": $kernel_args_bytes}"
}

described() {
  local hash
  hash=$(sha256sum "$work/$1")
  echo "{\"file\": \"$1\", \"size\": $(stat -c %s "$work/$1"), \"sha256\": \"${hash%% *}\"}"
}

package_versions() {
  local deb
  for deb in "$debs"/*.deb; do dpkg-deb -W --showformat='    "${Package}": "${Version}",\n' "$deb"; done |
    sort | sed '$s/,$//'
}

make_manifest() {
  local agent_hash
  agent_hash=$(sha256sum "$agent")
  cat >"$work/manifest.json" <<-MANIFEST
	{
	  "format": 1,
	  "kernel_release": "$release",
	  "source_date_epoch": $SOURCE_DATE_EPOCH,
	  "agent_sha256": "${agent_hash%% *}",
	  "kernel_args": "$kernel_args",
	  "memory_floor_mib": {"bios": $bios_mib, "uefi": $uefi_mib},
	  "iso": $(described leaseless.iso),
	  "kernel": $(described vmlinuz),
	  "initramfs": $(described initramfs.gz),
	  "reserved": {
	    "publisher": {"offset": 33086, "length": 128},
	    "segment": $(extent /host.img),
	    "network_data": $(extent /openstack/latest/network_data.json),
	    "meta_data": $(extent /openstack/latest/meta_data.json),
	    "kernel_args": [
	      $(args_extent /isolinux/isolinux.cfg),
	      $(args_extent /boot/grub/grub.cfg)
	    ]
	  },
	  "packages": {
	$(package_versions)
	  }
	}
	MANIFEST
}

[ -f "$agent" ] || fail "$agent is no file: build the agent first, or name it with --agent"
need_tools
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root tree=$work/tree debs=$work/debs
mkdir -p "$root" "$tree" "$out"

if [ -n "$packages" ]; then debs=$(realpath "$packages"); else fetch; fi
say "unpacking"
unpack
add_modules
add_firmware
make_archive
say "compressing $(stat -c %s "$work/initramfs.cpio") bytes"
gzip -9nc "$work/initramfs.cpio" >"$work/initramfs.gz" &
cp "$root/boot/vmlinuz-$release" "$work/vmlinuz"
make_iso
wait $!
make_manifest
# The manifest comes last: whoever finds one finds the files that it describes.
rm -f "$out/manifest.json"
for file in leaseless.iso vmlinuz initramfs.gz manifest.json; do
  cp "$work/$file" "$out/.$file.new" && mv "$out/.$file.new" "$out/$file"
done
say "$(stat -c %s "$out/leaseless.iso") bytes in $out/leaseless.iso, kernel $release"
