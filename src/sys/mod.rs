//! Layers 2 and 3: the machine this runs on. Ports here, Linux below.

pub mod local_bmc;
