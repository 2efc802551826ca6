//! What a request gets: conditions (RFC 9110 §13) first, then ranges (§14). The decision is pure;
//! `into_response` puts it into hyper's words.

use std::convert::Infallible;
use std::ops::Range;
use std::sync::Arc;
use std::time::SystemTime;

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Response, StatusCode};
use time::OffsetDateTime;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;

use super::Item;
use super::body::IsoBody;
use super::progress::Activity;
use crate::image::range::Wanted;

/// RFC 9110 §5.6.7.
const HTTP_DATE: &[BorrowedFormatItem<'_>] = format_description!(
    "[weekday repr:short], [day] [month repr:short] [year] [hour]:[minute]:[second] GMT"
);
/// Ends the parts of a multipart body. An ISO may hold it by chance, which harms nobody: every part
/// says its length.
const BOUNDARY: &str = "leaseless0d1e5a1b2c3";

/// By what a client tells that it has this very ISO.
#[derive(Debug)]
pub(super) struct Validators {
    /// With its quotes.
    etag: String,
    /// Of whole seconds.
    modified: OffsetDateTime,
    last_modified: String,
}

impl Validators {
    pub(super) fn new(tag: &str, now: SystemTime) -> Self {
        let modified = OffsetDateTime::from(now).replace_nanosecond(0);
        let modified = modified.unwrap_or(OffsetDateTime::UNIX_EPOCH);
        Self {
            etag: format!("\"{tag}\""),
            modified,
            last_modified: modified.format(&HTTP_DATE).unwrap_or_default(),
        }
    }

    /// Whether a list of tags (`If-Match`, `If-None-Match`) has this one.
    fn in_list(&self, list: &str) -> bool {
        list.split(',').map(str::trim).any(|tag| tag == "*" || tag == self.etag)
    }

    fn not_after(&self, date: &str) -> Option<bool> {
        let date = time::PrimitiveDateTime::parse(date.trim(), &HTTP_DATE).ok()?;
        Some(self.modified <= date.assume_utc())
    }

    /// §13.1.5: a strong tag or the exact date.
    fn is_same(&self, if_range: &str) -> bool {
        let if_range = if_range.trim();
        if_range == self.etag || if_range == self.last_modified
    }
}

/// The decision.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    content: Content,
}

#[derive(Debug, PartialEq, Eq)]
enum Content {
    /// No body, and this length for one (`HEAD` has the length of what `GET` would send).
    None(Option<u64>),
    /// The whole ISO.
    Whole,
    /// One range.
    Part(Range<u64>),
    /// Several.
    Parts(Vec<Range<u64>>),
}

impl Answer {
    pub(super) fn not_found() -> Self {
        Self::empty(StatusCode::NOT_FOUND)
    }

    fn empty(status: StatusCode) -> Self {
        Self { status, content: Content::None(Some(0)) }
    }
}

/// Decides about a request for an ISO of `length` bytes.
pub(super) fn answer(
    method: &Method,
    headers: &HeaderMap,
    validators: &Validators,
    length: u64,
) -> Answer {
    if method != Method::GET && method != Method::HEAD {
        return Answer::empty(StatusCode::METHOD_NOT_ALLOWED);
    }
    if let Some(status) = condition(headers, validators) {
        let body = (status != StatusCode::NOT_MODIFIED).then_some(0);
        return Answer { status, content: Content::None(body) };
    }
    if method == Method::HEAD {
        return Answer { status: StatusCode::OK, content: Content::None(Some(length)) };
    }
    let heeded = text(headers, &header::IF_RANGE).is_none_or(|given| validators.is_same(given));
    let wanted = match text(headers, &header::RANGE) {
        Some(range) if heeded => Wanted::parse(range, length),
        Some(_) | None => Wanted::Whole,
    };
    match wanted {
        Wanted::Whole => Answer { status: StatusCode::OK, content: Content::Whole },
        Wanted::Nothing => Answer::empty(StatusCode::RANGE_NOT_SATISFIABLE),
        Wanted::Parts(parts) => {
            let content = match <[_; 1]>::try_from(parts) {
                Ok([part]) => Content::Part(part),
                Err(parts) => Content::Parts(parts),
            };
            Answer { status: StatusCode::PARTIAL_CONTENT, content }
        }
    }
}

/// §13.2.2: in this order; `None` where the request goes on.
fn condition(headers: &HeaderMap, validators: &Validators) -> Option<StatusCode> {
    if let Some(list) = text(headers, &header::IF_MATCH) {
        if !validators.in_list(list) {
            return Some(StatusCode::PRECONDITION_FAILED);
        }
    } else if text(headers, &header::IF_UNMODIFIED_SINCE)
        .and_then(|date| validators.not_after(date))
        == Some(false)
    {
        return Some(StatusCode::PRECONDITION_FAILED);
    }
    let unchanged = match text(headers, &header::IF_NONE_MATCH) {
        // Weak comparison: a client may have marked our strong tag as weak.
        Some(list) => validators.in_list(&list.replace("W/", "")),
        None => text(headers, &header::IF_MODIFIED_SINCE)
            .and_then(|date| validators.not_after(date))
            .unwrap_or(false),
    };
    unchanged.then_some(StatusCode::NOT_MODIFIED)
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

impl Answer {
    pub(super) fn into_response(
        self,
        item: Option<&Item>,
        activity: &Arc<Activity>,
    ) -> Response<BoxBody<Bytes, Infallible>> {
        let mut response = Response::new(Empty::new().boxed());
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        let Some(item) = item else {
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from(0));
            return response;
        };
        let total = item.iso.len();
        describe(headers, self.status, &item.validators, total);
        let mut body = IsoBody::new(Arc::clone(&item.readings), Arc::clone(activity));
        let push = |body: &mut IsoBody, span: &Range<u64>| {
            body.push_iso(span, item.iso.pieces(span.clone()));
        };
        match &self.content {
            Content::None(length) => {
                if let Some(length) = length {
                    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(*length));
                }
                return response;
            }
            Content::Whole => push(&mut body, &(0..total)),
            Content::Part(span) => {
                insert(headers, header::CONTENT_RANGE, &content_range(span, total));
                push(&mut body, span);
            }
            Content::Parts(spans) => {
                let kind = format!("multipart/byteranges; boundary={BOUNDARY}");
                insert(headers, header::CONTENT_TYPE, &kind);
                for span in spans {
                    body.push_framing(format!(
                        "\r\n--{BOUNDARY}\r\nContent-Type: {ISO_TYPE}\r\nContent-Range: {}\r\n\r\n",
                        content_range(span, total)
                    ));
                    push(&mut body, span);
                }
                body.push_framing(format!("\r\n--{BOUNDARY}--\r\n"));
            }
        }
        let length = hyper::body::Body::size_hint(&body).lower();
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
        *response.body_mut() = body.boxed();
        response
    }
}

const ISO_TYPE: &str = "application/octet-stream";

/// The headers that every answer about an ISO has.
fn describe(headers: &mut HeaderMap, status: StatusCode, validators: &Validators, total: u64) {
    insert(headers, header::ETAG, &validators.etag);
    insert(headers, header::LAST_MODIFIED, &validators.last_modified);
    insert(headers, header::ACCEPT_RANGES, "bytes");
    // It holds a host's secrets: no cache between us and the BMC may keep it.
    insert(headers, header::CACHE_CONTROL, "no-store");
    insert(headers, header::CONTENT_TYPE, ISO_TYPE);
    if status == StatusCode::METHOD_NOT_ALLOWED {
        insert(headers, header::ALLOW, "GET, HEAD");
    }
    if status == StatusCode::RANGE_NOT_SATISFIABLE {
        insert(headers, header::CONTENT_RANGE, &format!("bytes */{total}"));
    }
}

fn content_range(span: &Range<u64>, total: u64) -> String {
    format!("bytes {}-{}/{total}", span.start, span.end - 1)
}

/// Our own texts are all visible ASCII.
fn insert(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}
