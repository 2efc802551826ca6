//! `resolv.conf(5)`: rendered, and written only where it differs.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::netdata::model::Dns;

/// The resolver of the C library reads no more (`MAXNS` in `resolv.h`).
const MAX_SERVERS: usize = 3;

/// The file for these servers, both families, first three; `None` where there is nothing to say.
#[must_use]
pub fn render(dns: &Dns) -> Option<String> {
    if dns.servers.is_empty() && dns.search.is_empty() {
        return None;
    }
    let mut text = String::from("# written by leaseless-agent from network data\n");
    if !dns.search.is_empty() {
        text += &format!("search {}\n", dns.search.join(" "));
    }
    for server in dns.servers.iter().take(MAX_SERVERS) {
        text += &format!("nameserver {server}\n");
    }
    Some(text)
}

/// Writes the file by way of a temporary one; answers whether it changed. A symbolic link is
/// followed; where a bind mount forbids renaming, the file is written in place.
///
/// # Errors
/// `EROFS` and its kin: then whoever made the path so decides about DNS.
pub fn write(path: &Path, text: &str) -> io::Result<bool> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if fs::read_to_string(&target).is_ok_and(|current| current == text) {
        return Ok(false);
    }
    let temporary = temporary(&target);
    let replaced = fs::write(&temporary, text).and_then(|()| fs::rename(&temporary, &target));
    let Err(error) = replaced else { return Ok(true) };
    // Already gone when the first step failed.
    fs::remove_file(&temporary).ok();
    match error.kind() {
        ErrorKind::ResourceBusy | ErrorKind::PermissionDenied | ErrorKind::CrossesDevices => {
            fs::write(&target, text).map(|()| true)
        }
        _ => Err(error),
    }
}

fn temporary(target: &Path) -> PathBuf {
    let mut name = target.as_os_str().to_owned();
    name.push(".leaseless");
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dns() -> Dns {
        let servers = ["192.0.2.1", "2001:db8::1", "192.0.2.2", "192.0.2.3"];
        Dns {
            servers: servers.iter().map(|server| server.parse().unwrap()).collect(),
            search: vec!["example.org".to_owned(), "example.net".to_owned()],
        }
    }

    #[test]
    fn the_first_three_servers_of_both_families_are_written() {
        assert_eq!(
            render(&dns()).unwrap(),
            "# written by leaseless-agent from network data\nsearch example.org example.net\n\
             nameserver 192.0.2.1\nnameserver 2001:db8::1\nnameserver 192.0.2.2\n"
        );
    }

    #[test]
    fn without_servers_and_domains_there_is_no_file() {
        assert_eq!(render(&Dns::default()), None);
    }

    #[test]
    fn writing_the_same_again_changes_nothing_and_leaves_no_temporary_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("resolv.conf");
        assert!(write(&path, "nameserver 192.0.2.1\n").unwrap());
        assert!(!write(&path, "nameserver 192.0.2.1\n").unwrap());
        assert!(write(&path, "nameserver 192.0.2.2\n").unwrap());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_symbolic_link_stays_one() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("stub-resolv.conf");
        let path = directory.path().join("resolv.conf");
        fs::write(&target, "").unwrap();
        std::os::unix::fs::symlink(&target, &path).unwrap();
        write(&path, "nameserver 192.0.2.1\n").unwrap();
        assert!(fs::symlink_metadata(&path).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&target).unwrap(), "nameserver 192.0.2.1\n");
    }
}
