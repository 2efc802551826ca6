//! Layers 1 and 3: boot media. Pure writers (initrd segment, config drive, overlay of the boot
//! ISO), and beside them the build of the base image and the server of composed ISOs.
