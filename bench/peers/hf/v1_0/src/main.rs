//! Hugging Face `tokenizers` 1.0.0-rc.3: a new pipeline with a word cache that lives as long as the tokenizer.

#[path = "../../rounds.rs"]
mod rounds;

use tokenizers::pipeline::{EncodeOptions, PipelineToken, PipelineTokenizer};

struct Pipeline {
    tokenizer: PipelineTokenizer,
    options: EncodeOptions,
    tokens: Vec<PipelineToken>,
}

impl rounds::Encoder for Pipeline {
    /// `encode_into` is the crate's quickest entry: no `Encoding`, ids only, into a buffer that is kept.
    fn encode(&mut self, text: &str) {
        self.tokens.clear();
        self.tokenizer
            .encode_into(text, &self.options, &mut self.tokens)
            .expect("the model encodes any text");
    }

    fn ids(&self) -> &[u32] {
        PipelineToken::cast_slice(&self.tokens)
    }
}

fn main() {
    rounds::run(|model| {
        // Files written by earlier releases are rewritten to the form that the new reader accepts.
        let json = tokenizers::canonicalize_file(model).unwrap_or_else(|error| panic!("{model}: {error}"));
        let tokenizer = tokenizers::from_json(&json).unwrap_or_else(|error| panic!("{model}: {error}"));
        Pipeline { tokenizer, options: EncodeOptions::no_specials(), tokens: Vec::new() }
    });
}
