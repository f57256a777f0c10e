"""What the tokens of a model cost: the setting MODEL_PRICES."""

from __future__ import annotations

import math
from dataclasses import dataclass

FORM = "must be provider:model=PROMPT/COMPLETION or provider:model=PRICE, in numbers from 0"


@dataclass(frozen=True, slots=True)
class ModelPrice:
    """Of a million tokens, in the currency of the whole table."""

    model_id: str
    prompt: float
    completion: float


def read_prices(value: object) -> object:
    """`openai:gpt-4o=2.50/10; openai:text-embedding-3-small=0.02` as `ModelPrice`; one figure holds for all tokens.

    Raises:
        ValueError: naming the entry that cannot be read, or the model that is there twice.
    """
    if not isinstance(value, str):
        return value
    prices = [_price(entry.strip()) for entry in value.split(";") if entry.strip()]
    names = [price.model_id for price in prices]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(f"{twice!r} is there twice.")
    return tuple(prices)


def _price(entry: str) -> ModelPrice:
    name, _, figures = entry.rpartition("=")
    prompt, divided, completion = figures.partition("/")
    try:
        price = ModelPrice(name.strip(), float(prompt), float(completion if divided else prompt))
    except ValueError:
        raise ValueError(f"{entry!r} {FORM}.") from None
    if not price.model_id or not all(math.isfinite(each) and each >= 0 for each in (price.prompt, price.completion)):
        raise ValueError(f"{entry!r} {FORM}.")
    return price
