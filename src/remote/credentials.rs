//! Finds out how to reach an S3 store: credentials, region and address, from the variables of the
//! environment and from the files of the AWS tools.

use super::address::{S3Place, is_endpoint};
use crate::problem::{Kind, Problem};
use rusty_s3::Credentials;
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::PathBuf;

/// The variables that are read, each as `RATOON_STORE_NAME` and, if that is not set, as `AWS_NAME`.
const NAMES: &[&str] = &[
    "ACCESS_KEY_ID",
    "SECRET_ACCESS_KEY",
    "SESSION_TOKEN",
    "PROFILE",
    "DEFAULT_PROFILE",
    "REGION",
    "DEFAULT_REGION",
    "ENDPOINT_URL_S3",
    "ENDPOINT_URL",
    "SHARED_CREDENTIALS_FILE",
    "CONFIG_FILE",
    "CA_BUNDLE",
];
const OWN: &str = "RATOON_STORE_";
const AWS: &str = "AWS_";
/// The variables of an access key.
const KEY: [&str; 3] = ["ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN"];
/// The region if nothing names one. Most servers that are not Amazon's accept it.
const DEFAULT_REGION: &str = "us-east-1";

/// The address of a store, and where its credentials are.
#[derive(Clone)]
pub struct StoreSettings {
    /// The address, as the user gave it.
    pub url: String,
    /// The variables of the environment that `variables` names, with their values.
    variables: BTreeMap<String, String>,
    /// The user's home directory.
    home: Option<PathBuf>,
}

impl fmt::Debug for StoreSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreSettings")
    }
}

/// How to reach the server of a store.
pub(super) struct Access {
    pub(super) credentials: Credentials,
    pub(super) region: String,
    /// The address of a server other than Amazon's.
    pub(super) endpoint: Option<String>,
    /// The file with the certificates that the server's certificate must be signed with.
    pub(super) certificates: Option<PathBuf>,
}

impl StoreSettings {
    /// Settings for this address. `read` returns the value of a variable of the environment.
    pub fn new(url: &str, read: impl Fn(&str) -> Option<String>, home: Option<PathBuf>) -> Self {
        let names = NAMES.iter().flat_map(|name| [format!("{OWN}{name}"), format!("{AWS}{name}")]);
        let set = |name: String| read(&name).filter(|value| !value.is_empty()).map(|value| (name, value));
        Self { url: url.to_owned(), variables: names.filter_map(set).collect(), home }
    }

    /// The variables that cells must not inherit: `RATOON_STORE_…`, and those of the access key
    /// that this store uses. Another access key in `AWS_…` is the user's own and stays.
    pub fn hidden_variables(&self) -> Vec<String> {
        let own = NAMES.iter().map(|name| format!("{OWN}{name}")).chain(["RATOON_STORE".to_owned()]);
        let is_used = self.url.starts_with("s3:") && self.has_key(AWS) && !self.is_own();
        let used = KEY.iter().filter(|_| is_used).map(|name| format!("{AWS}{name}"));
        own.chain(used).collect()
    }

    fn has_key(&self, prefix: &str) -> bool {
        self.variables.contains_key(&format!("{prefix}{}", KEY[0]))
    }

    /// Whether the access key is in `RATOON_STORE_…`, directly or by a profile.
    fn is_own(&self) -> bool {
        self.has_key(OWN) || self.variables.contains_key(&format!("{OWN}PROFILE"))
    }

    fn variable(&self, name: &str) -> Option<&str> {
        let of = |prefix| self.variables.get(&format!("{prefix}{name}")).map(String::as_str);
        of(OWN).or_else(|| of(AWS))
    }

    /// Reads the credentials. Reads the files anew each time, because tools renew them.
    ///
    /// # Errors
    /// When there are no credentials, or a file cannot be read.
    pub(super) fn access(&self, place: &S3Place, shown: &str) -> Result<Access, Problem> {
        let profile = self.variable("PROFILE").or_else(|| self.variable("DEFAULT_PROFILE"));
        let profile = profile.unwrap_or("default");
        let credentials_file = self.file("SHARED_CREDENTIALS_FILE", ".aws/credentials", shown)?;
        let config_file = self.file("CONFIG_FILE", ".aws/config", shown)?;
        let mut found = section(&config_file, &[&format!("profile {profile}"), profile]);
        found.extend(section(&credentials_file, &[profile]));
        let of = |name: &str| found.get(name).cloned();
        let prefix = match (self.has_key(OWN), self.is_own() || !self.has_key(AWS)) {
            (true, _) => Some(OWN),
            (false, true) => None,
            (false, false) => Some(AWS),
        };
        let key = |name: &str| match prefix {
            Some(prefix) => self.variables.get(&format!("{prefix}{name}")).cloned(),
            None => of(&format!("aws_{}", name.to_ascii_lowercase())),
        };
        let refused = |why: String, how: &str| {
            Err(Problem::new(Kind::BadRequest, format!("use the store {shown}"), why, how))
        };
        let (Some(id), Some(secret)) = (key(KEY[0]), key(KEY[1])) else {
            let how = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; for other kinds of \
                       profiles: eval \"$(aws configure export-credentials --format env)\"";
            return refused(
                format!("there is no access key in the environment or in the profile {profile}"),
                how,
            );
        };
        let credentials = match key(KEY[2]) {
            Some(token) => Credentials::new_with_token(id, secret, token),
            None => Credentials::new(id, secret),
        };
        let own = |names: &[&str]| names.iter().find_map(|name| self.variable(name)).map(str::to_owned);
        let endpoint = place.endpoint.clone();
        let endpoint = endpoint.or_else(|| own(&["ENDPOINT_URL_S3", "ENDPOINT_URL"]).or(of("endpoint_url")));
        if endpoint.as_ref().is_some_and(|endpoint| !is_endpoint(endpoint)) {
            let how = "correct AWS_ENDPOINT_URL, or endpoint_url in the profile: http(s)://HOST:PORT";
            return refused("the address of its server is not http(s)://HOST:PORT".into(), how);
        }
        let region = place.region.clone().or_else(|| own(&["REGION", "DEFAULT_REGION"]).or(of("region")));
        Ok(Access {
            credentials,
            region: region.unwrap_or_else(|| DEFAULT_REGION.into()),
            endpoint,
            certificates: self.variable("CA_BUNDLE").map(PathBuf::from),
        })
    }

    /// The text of a file of the AWS tools; empty if there is none.
    fn file(&self, variable: &str, usual: &str, shown: &str) -> Result<String, Problem> {
        let usual = self.home.as_ref().map(|home| home.join(usual));
        let Some(path) = self.variable(variable).map(PathBuf::from).or(usual) else {
            return Ok(String::new());
        };
        match fs::read_to_string(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                let why = format!("{} cannot be read: {error}", path.display());
                Err(Problem::new(
                    Kind::BadRequest,
                    format!("use the store {shown}"),
                    why,
                    "check its permissions",
                ))
            }
            other => Ok(other.unwrap_or_default()),
        }
    }
}

/// The settings of the first of these sections that a file has. Indented lines belong to the
/// setting above them, and are left out.
fn section(text: &str, names: &[&str]) -> BTreeMap<String, String> {
    let of = |name: &str| {
        let (mut settings, mut is_here, mut is_found) = (BTreeMap::new(), false, false);
        for line in text.lines().filter(|line| !line.trim_start().starts_with(['#', ';'])) {
            let title = line.trim().strip_prefix('[').and_then(|line| line.strip_suffix(']'));
            if let Some(title) = title {
                is_here = title.split_whitespace().eq(name.split_whitespace());
                is_found |= is_here;
            } else if is_here
                && !line.starts_with([' ', '\t'])
                && let Some((key, value)) = line.split_once('=')
            {
                settings.insert(key.trim().to_ascii_lowercase(), value.trim().to_owned());
            }
        }
        is_found.then_some(settings)
    };
    names.iter().find_map(|name| of(name)).unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::address::Address;
    use super::*;

    fn settings(variables: &[(&str, &str)]) -> StoreSettings {
        let read =
            |name: &str| variables.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned());
        StoreSettings::new("s3://bucket/prefix", read, None)
    }

    fn access(variables: &[(&str, &str)]) -> Result<Access, Problem> {
        let Address::S3(place) = Address::parse("s3://bucket/prefix").unwrap() else { panic!() };
        settings(variables).access(&place, "s3://bucket/prefix")
    }

    const KEYS: [(&str, &str); 2] =
        [("AWS_ACCESS_KEY_ID", "users"), ("AWS_SECRET_ACCESS_KEY", "users-secret")];

    #[test]
    fn the_environment_names_key_region_and_server() {
        let more =
            [("AWS_SESSION_TOKEN", "token"), ("AWS_REGION", "eu-west-1"), ("AWS_ENDPOINT_URL", "http://h:9")];
        let found = access(&[&KEYS[..], &more].concat()).unwrap();
        assert_eq!((found.credentials.key(), found.credentials.secret()), ("users", "users-secret"));
        assert_eq!((found.credentials.token(), found.region.as_str()), (Some("token"), "eu-west-1"));
        assert_eq!(found.endpoint.as_deref(), Some("http://h:9"));
        let found = access(&KEYS).unwrap();
        assert_eq!((found.region.as_str(), found.endpoint), ("us-east-1", None));
        assert_eq!(access(&[]).err().unwrap().kind, Kind::BadRequest);
        assert!(access(&[&KEYS[..], &[("AWS_ENDPOINT_URL", "http://u:p@h")]].concat()).is_err());
    }

    #[test]
    fn the_files_of_the_aws_tools_are_read() {
        let dir = std::env::temp_dir().join(format!("ratoon-aws-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let (credentials, config) = (dir.join("credentials"), dir.join("config"));
        let keys = "[default]\naws_access_key_id = d\naws_secret_access_key=ds\n\n[work]\n# a note\n\
                    aws_access_key_id=w\naws_secret_access_key = w/s=\n";
        fs::write(&credentials, keys).unwrap();
        let settings = "[profile work]\nregion = eu-north-1\ns3 =\n  region = not-this\n\
                        endpoint_url = https://s3.work\n[profile sso]\nsso_session = x\n";
        fs::write(&config, settings).unwrap();
        let files = [
            ("AWS_SHARED_CREDENTIALS_FILE", credentials.to_str().unwrap()),
            ("AWS_CONFIG_FILE", config.to_str().unwrap()),
        ];
        let found = access(&files).unwrap();
        assert_eq!((found.credentials.key(), found.region.as_str()), ("d", "us-east-1"));
        let found = access(&[&files[..], &[("AWS_PROFILE", "work")]].concat()).unwrap();
        assert_eq!((found.credentials.secret(), found.region.as_str()), ("w/s=", "eu-north-1"));
        assert_eq!(found.endpoint.as_deref(), Some("https://s3.work"));
        // The key in the environment is the user's; the store's profile wins.
        let found = access(&[&files[..], &KEYS, &[("RATOON_STORE_PROFILE", "work")]].concat()).unwrap();
        assert_eq!(found.credentials.key(), "w");
        let problem = access(&[&files[..], &[("AWS_PROFILE", "sso")]].concat()).err().unwrap();
        assert!(problem.why.contains("sso") && problem.how.contains("export-credentials"), "{problem:?}");
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn cells_keep_a_key_that_the_store_does_not_use() {
        let hidden = |variables: &[(&str, &str)]| settings(variables).hidden_variables();
        let aws = "AWS_SECRET_ACCESS_KEY".to_owned();
        assert!(hidden(&KEYS).contains(&aws));
        let own = [("RATOON_STORE_ACCESS_KEY_ID", "s"), ("RATOON_STORE_SECRET_ACCESS_KEY", "ss")];
        let both = [&KEYS[..], &own].concat();
        assert!(!hidden(&both).contains(&aws) && hidden(&both).contains(&own[1].0.to_owned()));
        assert!(hidden(&[]).contains(&"RATOON_STORE".to_owned()));
        assert_eq!(access(&both).unwrap().credentials.key(), "s");
        assert_eq!(format!("{:?}", settings(&both)), "StoreSettings");
    }
}
