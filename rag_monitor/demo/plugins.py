"""Two plugins the demo assistant can call: a loan calculator and an order lookup."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_AMOUNT: Final = re.compile(r"(\d+(?:\.\d+)?)\s*万元")
_YEARS: Final = re.compile(r"(\d+)\s*年")
_RATE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*%")
_ORDER: Final = re.compile(r"\bES-\d{5}\b")

_ORDERS: Final = {
    "ES-10234": "left the warehouse in Leipzig on 3 June and is expected on 6 June",
    "ES-10377": "was handed to the carrier on 4 June and is expected on 7 June",
    "ES-10519": "was shipped with express delivery on 5 June and arrives by noon on 6 June",
    "ES-10688": "is ready for pickup in the Hamburg store until 8 June",
}


@dataclass(frozen=True, slots=True)
class PluginResult:
    """What a plugin found out, as one sentence for the model."""

    text: str
    items: int = 1


def rate_calculator(question: str) -> PluginResult | None:
    """The monthly payment of an annuity loan, when the question names amount, years and rate.

    Payment = P · r / (1 - (1 + r)^-n), with r the monthly rate and n the number of months.
    """
    amount, years, rate = (p.search(question) for p in (_AMOUNT, _YEARS, _RATE))
    if not (amount and years and rate):
        return None
    months = int(years.group(1)) * 12
    monthly = float(rate.group(1)) / 1200
    if months == 0 or monthly == 0:
        return None
    principal = float(amount.group(1)) * 10_000
    payment = principal * monthly / (1 - (1 + monthly) ** -months)
    return PluginResult(
        f"贷款{amount.group(1)}万元，期限{years.group(1)}年，年利率{rate.group(1)}%，"
        f"按等额本息计算每月还款{payment:.2f}元，共{months}期。"
    )


def order_lookup(question: str) -> PluginResult | None:
    """The state of the order the question names; no items when there is no such order."""
    number = _ORDER.search(question)
    if number is None:
        return None
    state = _ORDERS.get(number.group())
    if state is None:
        return PluginResult(f"There is no order {number.group()}.", items=0)
    return PluginResult(f"Order {number.group()} {state}.")


PLUGINS: Final = {
    "rate_calculator": ("loan_calculation", rate_calculator),
    "order_lookup": ("order_tracking", order_lookup),
}
"""Plugin name to the workflow it belongs to and the function itself."""
