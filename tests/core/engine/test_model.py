"""Building models: shapes, real folders, and clear words for what cannot be loaded."""

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from idlegap.core.engine.errors import UnsupportedError
from idlegap.core.engine.model import LoadedModel, load_model, make_prompt, synthetic_config
from idlegap.core.engine.tokens import GeneratedText
from idlegap.core.protocol.settings import SYNTHETIC_DEFAULT


@pytest.fixture(scope="module")
def folder(tmp_path_factory, loaded: LoadedModel):
    """The tiny model saved as a real one, with a tokenizer of its own."""
    path = tmp_path_factory.mktemp("model")
    loaded.model.save_pretrained(path)
    vocabulary = {token: n for n, token in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    from tokenizers.decoders import ByteLevel

    tokenizer.decoder = ByteLevel()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer).save_pretrained(path)
    return path


def test_the_default_shape_has_the_parameters_and_bytes_of_qwen_1_5b():
    from transformers import AutoModelForCausalLM

    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(synthetic_config(SYNTHETIC_DEFAULT), dtype=torch.float16)
    assert sum(p.numel() for p in model.parameters()) == 1_543_714_304
    assert model.config.tie_word_embeddings


def test_tied_weights_are_counted_once(loaded: LoadedModel):
    embedding = loaded.model.get_input_embeddings().weight
    assert loaded.model.get_output_embeddings().weight is embedding
    assert loaded.weight_bytes == 4 * loaded.parameters


def test_random_weights_are_not_zero_and_the_same_every_time(loaded, device):
    again = load_model(None, device, lambda *_: None)
    for a, b in zip(loaded.model.parameters(), again.model.parameters(), strict=True):
        assert torch.equal(a, b)
        assert a.dim() == 1 or a.count_nonzero() > 0.9 * a.numel()


def test_a_local_folder_is_loaded_with_its_weights_and_tokenizer(folder, device, loaded):
    real = load_model(str(folder), device, lambda *_: None)
    assert not real.random_weights
    assert real.tokenizer is not None
    assert real.parameters == loaded.parameters
    prompt = make_prompt(real, device, 700, 2)
    assert prompt.shape == (2, 700)
    assert torch.equal(prompt[0], prompt[1])
    assert real.tokenizer.decode(prompt[0][:21].tolist()) == "A graphics processor "


def test_generated_text_comes_in_pieces_of_whole_characters(folder, device):
    tokenizer = load_model(str(folder), device, lambda *_: None).tokenizer
    ids = tokenizer("naïve")["input_ids"]
    text = GeneratedText(tokenizer, ids[0])
    pieces = [text.take()]
    for token_id in ids[1:]:
        text.ids.append(token_id)
        pieces.append(text.take())
    assert "".join(pieces) == "naïve"
    assert "ï" in pieces
    assert "" in pieces


@pytest.mark.parametrize("content", [None, "{}", "not json"])
def test_a_folder_that_holds_no_model_is_named_in_the_error(tmp_path, device, content):
    if content is not None:
        (tmp_path / "config.json").write_text(content)
    with pytest.raises(UnsupportedError, match="not a causal language model") as caught:
        load_model(str(tmp_path), device, lambda *_: None)
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.hint


def test_a_model_that_is_nowhere_is_named_in_the_error(device, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(UnsupportedError, match="--model no/such-model: neither a local folder nor") as caught:
        load_model("no/such-model", device, lambda *_: None)
    assert SYNTHETIC_DEFAULT in caught.value.hint
