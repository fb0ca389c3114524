//! The stores of the addresses, and the words for their errors. Credentials come from the environment,
//! by the names that `object_store` and the vendors' own tools use.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::http::HttpBuilder;
use object_store::path::Path as Key;
use object_store::{BackoffConfig, ClientOptions, Error, ObjectStore, RetryConfig};
use tokio::runtime::{Builder, Runtime};

use super::address::{Address, without_secrets};
use super::cache::is_offline;
use super::failure::Failure;
use super::transport::Connector;

/// Redirects that a server without credentials may ask for, such as one in front of a mirror.
const REDIRECTS: u32 = 5;
/// Most bytes of a message of a store that is shown.
const SHOWN: usize = 300;

/// Stores by scheme and place.
type Stores = BTreeMap<(&'static str, String), Arc<dyn ObjectStore>>;

/// The stores in use, so that their connections and tokens are used again.
static STORES: Mutex<Stores> = Mutex::new(Stores::new());

/// Runs a request to its end on this thread. The runtime only has the clock of the retries.
pub(super) fn wait<F: Future>(request: F) -> io::Result<F::Output> {
    static RUNTIME: OnceLock<Result<Runtime, String>> = OnceLock::new();
    let runtime = RUNTIME.get_or_init(|| {
        let mut builder = Builder::new_multi_thread();
        let builder = builder
            .worker_threads(1)
            .thread_name("storage")
            .enable_time();
        builder.build().map_err(|e| e.to_string())
    });
    match runtime {
        Ok(runtime) => Ok(runtime.block_on(request)),
        Err(e) => Err(io::Error::other(format!(
            "starting the clock of retries: {e}"
        ))),
    }
}

/// Waits 0.2 s before the second attempt, then longer, up to nine attempts and three minutes.
fn retries() -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig {
            init_backoff: Duration::from_millis(200),
            max_backoff: Duration::from_secs(15),
            base: 2.0,
        },
        max_retries: 8,
        retry_timeout: Duration::from_secs(180),
    }
}

/// Returns the store of an address.
///
/// # Errors
/// If the environment holds settings that cannot be used.
pub(super) fn store(address: &Address) -> io::Result<Arc<dyn ObjectStore>> {
    if is_offline() {
        let reason = "expected a local path with --offline, found an address";
        return Err(Failure(reason.to_owned()).into_io(io::ErrorKind::InvalidInput));
    }
    let mut stores = STORES.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (address.scheme, address.place.clone());
    if let Some(store) = stores.get(&key) {
        return Ok(Arc::clone(store));
    }
    let store = build(address).map_err(|e| describe(&e, address))?;
    stores.insert(key, Arc::clone(&store));
    Ok(store)
}

fn build(address: &Address) -> object_store::Result<Arc<dyn ObjectStore>> {
    // The builders have no trait in common.
    macro_rules! built {
        ($builder:expr, $redirects:expr) => {{
            let builder = $builder.with_http_connector(Connector::new($redirects));
            Arc::new(builder.with_retry(retries()).build()?)
        }};
    }
    let Address { scheme, place, .. } = address;
    // A signed request is for one host alone, so it follows no redirect.
    Ok(match *scheme {
        "s3" => built!(AmazonS3Builder::from_env().with_bucket_name(place), 0),
        "gs" => built!(
            GoogleCloudStorageBuilder::from_env().with_bucket_name(place),
            0
        ),
        "az" => built!(
            MicrosoftAzureBuilder::from_env().with_container_name(place),
            0
        ),
        scheme => {
            let options = ClientOptions::new().with_allow_http(scheme == "http");
            let builder = HttpBuilder::new().with_url(format!("{scheme}://{place}"));
            built!(builder.with_client_options(options), REDIRECTS)
        }
    })
}

/// Returns the name of the object in its store.
///
/// # Errors
/// If it has empty parts, or `.` or `..` among its folders.
pub(super) fn key(address: &Address) -> io::Result<Key> {
    let key = address.key.trim_end_matches('/');
    let parsed = match address.scheme {
        // Addresses of the web write a blank as `%20`; names of buckets' objects are taken literally.
        "http" | "https" => Key::from_url_path(key),
        _ => Key::parse(key),
    };
    parsed.map_err(|e| {
        Failure(format!("expected folders and a name, found `{key}`: {e}"))
            .into_io(io::ErrorKind::InvalidInput)
    })
}

/// Returns the variables with credentials of a scheme.
fn credentials(scheme: &str) -> &'static str {
    match scheme {
        "s3" => {
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_SKIP_SIGNATURE=true for a public \
             bucket"
        }
        "gs" => "GOOGLE_APPLICATION_CREDENTIALS, or GOOGLE_SKIP_SIGNATURE=true for a public bucket",
        "az" => {
            "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY, or AZURE_SKIP_SIGNATURE=true \
             for a public container"
        }
        _ => "none: an address of the web is read without",
    }
}

/// Returns the number of an HTTP status in a message.
fn status(text: &str) -> Option<&str> {
    let rest = text.split("status code: ").nth(1)?;
    rest.get(..3)
        .filter(|code| code.bytes().all(|b| b.is_ascii_digit()))
}

/// Says what a store answered, without what it may have repeated of the request.
pub(super) fn describe(error: &Error, address: &Address) -> io::Error {
    use io::ErrorKind::{InvalidInput, Other};
    let text = error.to_string();
    let variables = credentials(address.scheme);
    let (kind, message) = match error {
        Error::NotFound { .. } => (InvalidInput, "expected an object, found none there".into()),
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => (
            InvalidInput,
            format!(
                "the store refuses access; credentials come from the environment ({variables})"
            ),
        ),
        Error::NotSupported { .. } => (InvalidInput, NO_RANGES.to_owned()),
        _ if text.contains("non-partial response") => (InvalidInput, NO_RANGES.to_owned()),
        // The service that hands out the credentials of a rented machine.
        _ if text.contains("169.254.169.254") => (
            InvalidInput,
            format!("no credentials were found; they come from the environment ({variables})"),
        ),
        _ => match status(&text) {
            Some(code) => (
                Other,
                format!("the store answered with the HTTP status {code}"),
            ),
            None => (Other, format!("the store failed: {}", brief(&text))),
        },
    };
    Failure(message).into_io(kind)
}

const NO_RANGES: &str = "the server does not send parts of an object (HTTP range requests), which \
                         reading from it needs; serve the shards with another server, or download them";

/// As [`describe`], for a store that was asked for the names of its objects.
pub(super) fn describe_list(error: &Error, address: &Address) -> io::Error {
    if !address.scheme.starts_with("http") {
        return describe(error, address);
    }
    Failure(format!(
        "expected shards, found a folder of a server that does not list it ({}); name the shards, as in \
         {{00000..00017}}.parquet or in a file given as @list.txt",
        status(&error.to_string()).map_or_else(
            || brief(&error.to_string()),
            |code| format!("HTTP status {code}")
        )
    ))
    .into_io(io::ErrorKind::InvalidInput)
}

/// Returns the first line of a message without secrets and markup, shortened.
fn brief(text: &str) -> String {
    let line = without_secrets(text.lines().next().unwrap_or_default());
    let line = line.split('<').next().unwrap_or_default();
    line.char_indices()
        .take_while(|(at, _)| *at < SHOWN)
        .map(|(_, c)| c)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Address {
        Address::parse(std::path::Path::new(text)).unwrap()
    }

    #[test]
    fn names_of_objects_are_literal_and_addresses_of_the_web_are_not() {
        let key = |text| key(&address(text)).map(|key| key.to_string());
        assert_eq!(key("s3://b/x/y%20z.tar").unwrap(), "x/y%20z.tar");
        assert_eq!(key("http://h/x/y%20z.tar").unwrap(), "x/y z.tar");
        assert_eq!(key("gs://b/x/").unwrap(), "x");
        let error = key("s3://b/x/../y.tar").unwrap_err().to_string();
        assert!(error.contains("x/../y.tar"), "{error}");
    }

    #[test]
    fn what_a_store_says_never_shows_a_secret() {
        let generic = |text: &str| Error::Generic {
            store: "S3",
            source: text.to_owned().into(),
        };
        let shown = |text: &str| describe(&generic(text), &address("s3://b/x")).to_string();
        let refused = "Server returned non-2xx status code: 400 Bad Request: AKIAHUNTER2";
        assert_eq!(
            shown(refused),
            "the store answered with the HTTP status 400"
        );
        let signed = "Error performing GET https://u:hunter2@h/x?sig=hunter2 in 1ms\n<Key>hunter2";
        assert!(
            shown(signed).contains("https://h/x?… in 1ms"),
            "{}",
            shown(signed)
        );
        assert!(!shown(signed).contains("hunter2"));
        let metadata = "Error performing PUT http://169.254.169.254/latest/api/token";
        assert!(shown(metadata).contains("AWS_ACCESS_KEY_ID"));
    }
}
