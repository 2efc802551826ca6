//! The kernel's command line, split as the kernel splits it (`next_arg`, `lib/cmdline.c`). Pure.
//!
//! Not here: what any one parameter means.

/// Words of `/proc/cmdline`, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KernelLine(Vec<Word>);

/// `key`, or `key=value`; the key as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Word {
    key: String,
    value: Option<String>,
}

impl KernelLine {
    /// Splits a command line. Every text is one: an open quote ends with the line.
    ///
    /// Double quotes hold white space together, around a value or around a whole word. `--`, which
    /// hands what follows it to init, is dropped, and what follows it counts like the rest: Ironic
    /// appends it, and its ramdisk reads on.
    #[must_use]
    pub fn parse(line: &str) -> Self {
        Self(words(line).into_iter().filter(|word| *word != "--").map(Word::parse).collect())
    }

    /// The value of `key`; where it stands twice, the last one, as the kernel takes it. `-` and
    /// `_` are the same in a key (`parameq`, `kernel/params.c`). `None` also for a key without `=`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.last(key).and_then(|word| word.value.as_deref())
    }

    /// Whether `key` stands there, with a value or without.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.last(key).is_some()
    }

    /// The parameters of one module, as `finit_module(2)` takes them: `ipmi_si.type=kcs` is
    /// `type=kcs` for `ipmi_si`. The kernel leaves this to whoever loads the module.
    #[must_use]
    pub fn module_parameters(&self, module: &str) -> String {
        let own = self.0.iter().filter_map(|word| {
            let (prefix, name) = word.key.split_once('.')?;
            same_key(prefix, module).then(|| match &word.value {
                Some(value) if value.contains(char::is_whitespace) => format!("{name}=\"{value}\""),
                Some(value) => format!("{name}={value}"),
                None => name.to_owned(),
            })
        });
        own.collect::<Vec<_>>().join(" ")
    }

    /// Whether `modprobe.blacklist=` or `module_blacklist=` names this module.
    #[must_use]
    pub fn blacklists(&self, module: &str) -> bool {
        let lists = self.0.iter().filter(|word| {
            same_key(&word.key, "modprobe.blacklist") || same_key(&word.key, "module_blacklist")
        });
        lists
            .filter_map(|word| word.value.as_deref())
            .any(|list| list.split(',').any(|name| same_key(name, module)))
    }

    fn last(&self, key: &str) -> Option<&Word> {
        self.0.iter().rev().find(|word| same_key(&word.key, key))
    }
}

impl Word {
    fn parse(word: &str) -> Self {
        let word = unquote(word);
        match word.split_once('=') {
            Some((key, value)) => {
                Self { key: key.to_owned(), value: Some(unquote(value).to_owned()) }
            }
            None => Self { key: word.to_owned(), value: None },
        }
    }
}

/// Splits at white space outside double quotes.
fn words(line: &str) -> Vec<&str> {
    let mut quoted = false;
    line.split(move |c: char| {
        if c == '"' {
            quoted = !quoted;
        }
        c.is_ascii_whitespace() && !quoted
    })
    .filter(|word| !word.is_empty())
    .collect()
}

/// Drops an opening quote, and the closing one where there is one.
fn unquote(text: &str) -> &str {
    match text.strip_prefix('"') {
        Some(rest) => rest.strip_suffix('"').unwrap_or(rest),
        None => text,
    }
}

fn same_key(a: &str, b: &str) -> bool {
    let plain = |c: char| if c == '-' { '_' } else { c };
    a.chars().map(plain).eq(b.chars().map(plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_as_ironic_writes_it_reads_whole() {
        let line = KernelLine::parse(
            "BOOT_IMAGE=/vmlinuz ir_pub_id=5d5ad6f0-3f6d-4b7c-a3a2-7b9d3a6b6a11 ipa-debug=1 \
             ipa-debug=1 boot_method=vmedia console=tty0 console=ttyS0 ipa-insecure=1 --\n",
        );
        assert_eq!(line.get("ir_pub_id"), Some("5d5ad6f0-3f6d-4b7c-a3a2-7b9d3a6b6a11"));
        assert_eq!(line.get("boot_method"), Some("vmedia"));
        assert_eq!(line.get("console"), Some("ttyS0"), "the last one wins");
        assert!(!line.has("--"));
    }

    #[test]
    fn quotes_hold_white_space_around_a_value_and_around_a_word() {
        let line = KernelLine::parse(r#"sshkey="ssh-ed25519 AAAA me" "dyndbg=file x.c +p" quiet"#);
        assert_eq!(line.get("sshkey"), Some("ssh-ed25519 AAAA me"));
        assert_eq!(line.get("dyndbg"), Some("file x.c +p"));
        assert!(line.has("quiet"));
        assert_eq!(line.get("quiet"), None);
    }

    #[test]
    fn an_open_quote_ends_with_the_line() {
        let line = KernelLine::parse(r#"a="b c"#);
        assert_eq!(line.get("a"), Some("b c"));
    }

    #[test]
    fn a_value_keeps_its_equals_signs_and_may_be_empty() {
        let line = KernelLine::parse("url=http://192.0.2.1/?a=b empty= =odd");
        assert_eq!(line.get("url"), Some("http://192.0.2.1/?a=b"));
        assert_eq!(line.get("empty"), Some(""));
    }

    #[test]
    fn words_after_the_double_dash_still_count() {
        assert_eq!(KernelLine::parse("a=1 -- b=2").get("b"), Some("2"));
    }

    #[test]
    fn dashes_and_underscores_are_one_in_keys_alone() {
        let line = KernelLine::parse("ipa-api-url=http://a-b_c");
        assert_eq!(line.get("ipa_api_url"), Some("http://a-b_c"));
    }

    #[test]
    fn a_modules_parameters_are_its_own_and_in_order() {
        let line =
            KernelLine::parse(r#"ipmi-si.type=kcs ipmi_si.ports=0xca2 bonding.x=1 e.g="a b" e.f"#);
        assert_eq!(line.module_parameters("ipmi_si"), "type=kcs ports=0xca2");
        assert_eq!(line.module_parameters("e"), "g=\"a b\" f");
        assert_eq!(line.module_parameters("ipmi"), "");
    }

    #[test]
    fn a_blacklist_names_modules() {
        let line = KernelLine::parse("modprobe.blacklist=mlx5_core,mgag200");
        assert!(line.blacklists("mlx5-core") && line.blacklists("mgag200"));
        assert!(!line.blacklists("mlx5"));
    }
}
