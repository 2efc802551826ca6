//! Answers of a simulated BMC.

use axum::body::Body;
use axum::http::{Response, StatusCode, header};
use serde_json::{Value, json};

pub(crate) fn ok(body: &Value) -> Response<Body> {
    with_status(StatusCode::OK, body)
}

pub(crate) fn with_status(status: StatusCode, body: &Value) -> Response<Body> {
    Response::builder()
        .status(status)
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from(body.to_string()))
        .unwrap()
}

pub(crate) fn no_content() -> Response<Body> {
    Response::builder().status(StatusCode::NO_CONTENT).body(Body::empty()).unwrap()
}

pub(crate) fn refusal(status: u16, id: &str, text: &str, about: &[&str]) -> Response<Body> {
    let body = json!({"error": {
        "code": "Base.1.8.GeneralError",
        "message": "A general error has occurred. See ExtendedInfo for more information.",
        "@Message.ExtendedInfo": [{"MessageId": id, "Message": text, "MessageArgs": about}],
    }});
    with_status(StatusCode::from_u16(status).unwrap(), &body)
}

pub(crate) fn not_found(path: &str) -> Response<Body> {
    refusal(404, "Base.1.8.ResourceMissingAtURI", "The resource was not found.", &[path])
}

pub(crate) fn html(status: u16) -> Response<Body> {
    Response::builder()
        .status(status)
        .header(header::CONTENT_TYPE, "text/html")
        .body(Body::from("<!DOCTYPE html><html><body>It works!</body></html>"))
        .unwrap()
}

/// Announces more than it sends.
pub(crate) fn truncated() -> Response<Body> {
    let parts: Vec<Result<&str, std::io::Error>> =
        vec![Ok("{\"Id\": "), Err(std::io::Error::other("cable pulled"))];
    Response::new(Body::from_stream(futures::stream::iter(parts)))
}

pub(crate) fn huge() -> Response<Body> {
    let blanks = vec![b' '; 6 << 20];
    Response::new(Body::from(blanks))
}

pub(crate) fn redirect(to: &str) -> Response<Body> {
    Response::builder()
        .status(StatusCode::TEMPORARY_REDIRECT)
        .header(header::LOCATION, to)
        .body(Body::empty())
        .unwrap()
}
