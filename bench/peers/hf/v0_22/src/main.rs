//! Hugging Face `tokenizers` 0.22.2: the reference for ids, and the release that most programs run today.

#[path = "../../rounds.rs"]
mod rounds;

struct Released {
    tokenizer: tokenizers::Tokenizer,
    last: Option<tokenizers::Encoding>,
}

impl rounds::Encoder for Released {
    /// `encode_fast` is the crate's quickest entry: it computes no offsets. The last encoding is dropped within the
    /// call, so a steady state is measured.
    fn encode(&mut self, text: &str) {
        self.last = Some(self.tokenizer.encode_fast(text, false).expect("the model encodes any text"));
    }

    fn ids(&self) -> &[u32] {
        self.last.as_ref().expect("a text was encoded").get_ids()
    }
}

fn main() {
    rounds::run(|model| {
        let tokenizer =
            tokenizers::Tokenizer::from_file(model).unwrap_or_else(|error| panic!("{model}: {error}"));
        Released { tokenizer, last: None }
    });
}
