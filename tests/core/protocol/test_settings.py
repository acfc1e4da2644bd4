"""What settings work out by themselves."""

from hypothesis import given
from hypothesis import strategies as st

from idlegap.core.protocol.settings import CACHE_STEP, Settings


@given(prompt=st.integers(1, 4096), new=st.integers(8, 4096))
def test_a_cache_holds_a_round_and_hardly_more(prompt, new):
    settings = Settings(prompt_tokens=prompt, new_tokens=new)
    assert settings.round_len <= settings.cache_len < settings.round_len + CACHE_STEP
    assert settings.cache_len % CACHE_STEP == 0


def test_a_length_that_was_asked_for_is_taken_as_it_is():
    assert Settings(max_cache_len=767).cache_len == 767
    assert Settings(max_cache_len=767).with_shape(2, 512).cache_len == 767
    assert Settings(max_cache_len=2001).with_shape(1, 1024).cache_len == 2001


@given(prompt=st.integers(513, 8192))
def test_a_length_that_is_too_short_for_another_prompt_grows_in_steps(prompt):
    grown = Settings(max_cache_len=767).with_shape(1, prompt)
    assert grown.round_len <= grown.cache_len < grown.round_len + CACHE_STEP
    assert grown.cache_len % CACHE_STEP == 0
