//! The ISO server over real HTTP.
#![cfg(feature = "management")]
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use leaseless::image::composite::Composite;
use leaseless::image::serve::{IsoServer, Published, ServeError};

const SIZE: usize = 300_000;

fn iso() -> Vec<u8> {
    (0..SIZE).map(|at| u8::try_from(at % 251).unwrap()).collect()
}

async fn server() -> (IsoServer, Published) {
    let server = IsoServer::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
    let published = server.publish(Composite::plain(iso().into())).unwrap();
    (server, published)
}

/// An answer as it was on the wire.
struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(": ")?;
            found.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}

/// Sends one request on a connection of its own and reads to the end.
async fn ask(server: &IsoServer, method: &str, path: &str, headers: &str) -> Answer {
    let address = server.local_addr();
    let request =
        format!("{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}\r\n");
    let bytes = tokio::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        bytes
    });
    let bytes = bytes.await.unwrap();
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { status, head, body: bytes[end + 4..].to_vec() }
}

#[tokio::test]
async fn a_get_has_everything_a_bmc_looks_for() {
    let (server, published) = server().await;
    let answer = ask(&server, "GET", published.path(), "").await;
    assert_eq!(answer.status, 200);
    assert!(answer.body == iso());
    assert_eq!(answer.header("content-length"), Some("300000"));
    assert_eq!(answer.header("accept-ranges"), Some("bytes"));
    assert_eq!(answer.header("transfer-encoding"), None);
    let etag = answer.header("etag").unwrap();
    assert!(etag.starts_with('"') && etag.ends_with('"'), "a strong tag: {etag}");
    assert!(answer.header("last-modified").unwrap().ends_with(" GMT"));

    let head = ask(&server, "HEAD", published.path(), "Range: bytes=0-1\r\n").await;
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(head.header("content-length"), Some("300000"), "ranges are for GET alone");
    assert_eq!(head.header("etag"), answer.header("etag"));
}

#[tokio::test]
async fn one_range_is_those_bytes() {
    let (server, published) = server().await;
    for (range, from, to) in [
        ("0-0", 0, 1),
        ("100-65635", 100, 65_636),
        ("299999-", 299_999, 300_000),
        ("-500", 299_500, 300_000),
        ("0-999999", 0, 300_000),
    ] {
        let header = format!("Range: bytes={range}\r\n");
        let answer = ask(&server, "GET", published.path(), &header).await;
        assert_eq!(answer.status, 206, "{range}");
        assert!(answer.body == iso()[from..to], "{range}");
        let expected = format!("bytes {from}-{}/300000", to - 1);
        assert_eq!(answer.header("content-range"), Some(expected.as_str()));
        assert_eq!(answer.header("content-length"), Some((to - from).to_string().as_str()));
    }
}

#[tokio::test]
async fn a_range_behind_the_end_says_where_the_end_is() {
    let (server, published) = server().await;
    let answer = ask(&server, "GET", published.path(), "Range: bytes=300000-\r\n").await;
    assert_eq!((answer.status, answer.body.len()), (416, 0));
    assert_eq!(answer.header("content-range"), Some("bytes */300000"));
}

#[tokio::test]
async fn several_ranges_come_as_parts() {
    let (server, published) = server().await;
    let answer = ask(&server, "GET", published.path(), "Range: bytes=10-19,-5\r\n").await;
    assert_eq!(answer.status, 206);
    assert_eq!(answer.header("content-length"), Some(answer.body.len().to_string().as_str()));
    let kind = answer.header("content-type").unwrap();
    let boundary = kind.strip_prefix("multipart/byteranges; boundary=").unwrap();
    let mut expected = Vec::new();
    for (range, bytes) in [("10-19", &iso()[10..20]), ("299995-299999", &iso()[299_995..])] {
        expected.extend_from_slice(
            format!(
                "\r\n--{boundary}\r\nContent-Type: application/octet-stream\r\n\
                 Content-Range: bytes {range}/300000\r\n\r\n"
            )
            .as_bytes(),
        );
        expected.extend_from_slice(bytes);
    }
    expected.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
    assert!(answer.body == expected, "{}", String::from_utf8_lossy(&answer.body));
}

#[tokio::test]
async fn conditions_come_before_ranges() {
    let (server, published) = server().await;
    let head = ask(&server, "HEAD", published.path(), "").await;
    let (etag, date) = (head.header("etag").unwrap(), head.header("last-modified").unwrap());
    for (headers, status) in [
        (format!("Range: bytes=0-1\r\nIf-Range: {etag}\r\n"), 206),
        (format!("Range: bytes=0-1\r\nIf-Range: {date}\r\n"), 206),
        ("Range: bytes=0-1\r\nIf-Range: \"other\"\r\n".to_owned(), 200),
        (format!("Range: bytes=0-1\r\nIf-Range: W/{etag}\r\n"), 200),
        (format!("If-None-Match: \"x\", W/{etag}\r\n"), 304),
        ("If-None-Match: \"x\"\r\n".to_owned(), 200),
        (format!("If-Modified-Since: {date}\r\n"), 304),
        ("If-Modified-Since: Thu, 01 Jan 1970 00:00:00 GMT\r\n".to_owned(), 200),
        ("If-Modified-Since: yesterday\r\n".to_owned(), 200),
        (format!("If-Match: {etag}\r\n"), 200),
        ("If-Match: \"x\"\r\nRange: bytes=0-1\r\n".to_owned(), 412),
        ("If-Unmodified-Since: Thu, 01 Jan 1970 00:00:00 GMT\r\n".to_owned(), 412),
    ] {
        assert_eq!(
            ask(&server, "GET", published.path(), &headers).await.status,
            status,
            "{headers}"
        );
    }
}

#[tokio::test]
async fn nobody_learns_what_is_there() {
    let (server, published) = server().await;
    let path = published.path().to_owned();
    assert!(path.starts_with("/vm/") && path.ends_with(".iso") && path.len() == 40, "{path}");
    assert!(path[4..36].bytes().all(|byte| byte.is_ascii_hexdigit()));
    let upper = path.replace("/vm/", "/VM/");
    let (query, slash) = (format!("{path}?x"), format!("{path}/"));
    let other = "/vm/00000000000000000000000000000000.iso";
    for wrong in ["/", "/vm/", other, &upper, &query, &slash] {
        let answer = ask(&server, "GET", wrong, "").await;
        assert_eq!((answer.status, answer.body.len()), (404, 0), "{wrong}");
    }
    assert_eq!(ask(&server, "POST", &path, "Content-Length: 0\r\n").await.status, 405);
    assert_eq!(ask(&server, "POST", other, "Content-Length: 0\r\n").await.status, 404);
    drop(published);
    assert_eq!(ask(&server, "GET", &path, "").await.status, 404, "gone with its handle");
}

#[tokio::test]
async fn progress_counts_what_was_read() {
    let (server, published) = server().await;
    assert_eq!(published.progress().since_last_request, None);
    for _ in 0..2 {
        ask(&server, "GET", published.path(), "Range: bytes=0-99\r\n").await;
    }
    let seen = published.progress();
    assert_eq!((seen.requests, seen.sent, seen.covered), (2, 200, 16_384));
    ask(&server, "GET", published.path(), "").await;
    assert_eq!(published.progress().covered, 300_000);
}

#[tokio::test]
async fn a_connection_takes_many_requests() {
    let (server, published) = server().await;
    let address = server.local_addr();
    let request =
        format!("GET {} HTTP/1.1\r\nHost: x\r\nRange: bytes=7-7\r\n\r\n", published.path());
    let read = tokio::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        for _ in 0..3 {
            stream.write_all(request.as_bytes()).unwrap();
            let mut seen = Vec::new();
            let mut byte = [0];
            while !seen.ends_with(b"\r\n\r\n") {
                stream.read_exact(&mut byte).unwrap();
                seen.push(byte[0]);
            }
            stream.read_exact(&mut byte).unwrap();
            assert_eq!(byte, [7]);
        }
    });
    read.await.unwrap();
}

#[tokio::test]
async fn a_port_in_use_is_said_so() {
    let (server, _published) = server().await;
    let error = IsoServer::bind(server.local_addr()).await.unwrap_err();
    assert!(matches!(error, ServeError::InUse(_)), "{error}");
    assert!(error.to_string().contains("is in use by another program"), "{error}");
}

#[tokio::test]
async fn a_server_that_stops_listens_no_more() {
    let (server, _published) = server().await;
    let address = server.local_addr();
    server.shutdown().await;
    assert!(TcpStream::connect(address).is_err());
}

#[tokio::test]
async fn nothing_printed_tells_the_path() {
    let (server, published) = server().await;
    let printed = format!("{server:?} {published:?}");
    assert!(!printed.contains(&published.path()[10..30]), "{printed}");
}
