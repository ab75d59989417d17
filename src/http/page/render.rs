//! Renders templates as answers.

use crate::problem::Problem;
use actix_web::http::StatusCode;
use actix_web::http::header::CONTENT_TYPE;
use actix_web::{HttpResponse, ResponseError};
use askama::Template;

pub(super) fn render(status: StatusCode, page: &impl Template) -> HttpResponse {
    match page.render() {
        Ok(html) => {
            HttpResponse::build(status).insert_header((CONTENT_TYPE, "text/html; charset=utf-8")).body(html)
        }
        Err(_) => Problem::internal("the page cannot be rendered").error_response(),
    }
}
