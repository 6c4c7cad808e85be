"""Names of magnitudes, currencies and units in Chinese and English."""

from __future__ import annotations

from typing import Final

SCALE: Final[dict[str, float]] = {
    "k": 1e3, "thousand": 1e3, "mn": 1e6, "million": 1e6, "millions": 1e6, "m": 1e6, "bn": 1e9,
    "b": 1e9, "billion": 1e9, "billions": 1e9, "tn": 1e12, "trillion": 1e12, "hundred": 1e2,
    "dozen": 12.0,
    "百": 1e2, "千": 1e3, "万": 1e4, "十万": 1e5, "百万": 1e6, "千万": 1e7, "亿": 1e8,
    "十亿": 1e9, "百亿": 1e10, "千亿": 1e11, "万亿": 1e12,
}  # fmt: skip
CURRENCY: Final[dict[str, str]] = {
    "$": "usd", "us$": "usd", "usd": "usd", "dollar": "usd", "dollars": "usd", "美元": "usd",
    "美金": "usd", "£": "gbp", "gbp": "gbp", "pound sterling": "gbp", "英镑": "gbp", "€": "eur",
    "eur": "eur", "euro": "eur", "euros": "eur", "欧元": "eur", "¥": "cny", "rmb": "cny",
    "cny": "cny", "yuan": "cny", "元": "cny", "块": "cny", "人民币": "cny", "日元": "jpy",
    "yen": "jpy", "港元": "hkd", "港币": "hkd", "hk$": "hkd", "cent": "cent", "cents": "cent",
}  # fmt: skip
UNIT: Final[dict[str, str]] = {
    **{w: "km" for w in ("km", "kms", "kilometer", "kilometers", "kilometre", "kilometres", "公里", "千米")},
    **{w: "m" for w in ("m", "meter", "meters", "metre", "metres", "米")},
    **{w: "cm" for w in ("cm", "centimeter", "centimeters", "centimetre", "centimetres", "厘米")},
    **{w: "mm" for w in ("mm", "millimeter", "millimeters", "毫米")},
    **{w: "mile" for w in ("mi", "mile", "miles", "英里")},
    **{w: "foot" for w in ("ft", "foot", "feet", "英尺")},
    **{w: "inch" for w in ("in", "inch", "inches", "英寸")},
    **{w: "kg" for w in ("kg", "kgs", "kilogram", "kilograms", "公斤", "千克")},
    **{w: "g" for w in ("g", "gram", "grams", "克")},
    **{w: "mg" for w in ("mg", "milligram", "milligrams", "毫克")},
    **{w: "tonne" for w in ("ton", "tons", "tonne", "tonnes", "吨")},
    **{w: "lb" for w in ("lb", "lbs", "pound", "pounds", "磅")},
    **{w: "oz" for w in ("oz", "ounce", "ounces", "盎司")},
    **{w: "l" for w in ("l", "liter", "liters", "litre", "litres", "升")},
    **{w: "ml" for w in ("ml", "milliliter", "milliliters", "毫升")},
    **{w: "second" for w in ("s", "sec", "secs", "second", "seconds", "秒", "秒钟")},
    **{w: "minute" for w in ("min", "mins", "minute", "minutes", "分钟")},
    **{w: "hour" for w in ("h", "hr", "hrs", "hour", "hours", "小时", "个小时", "钟头")},
    **{w: "day" for w in ("day", "days", "天", "日")},
    **{w: "workday" for w in ("个工作日", "工作日")},
    **{w: "week" for w in ("week", "weeks", "周", "星期", "个星期")},
    **{w: "month" for w in ("month", "months", "个月")},
    **{w: "year" for w in ("year", "years", "yr", "yrs", "年", "周年")},
    **{w: "age" for w in ("岁",)},
    **{w: "time" for w in ("times", "倍")},
    **{w: "degree c" for w in ("°c", "c", "celsius", "摄氏度", "℃")},
    **{w: "degree f" for w in ("°f", "f", "fahrenheit", "华氏度")},
    **{w: "degree" for w in ("°", "degree", "degrees", "度")},
    **{w: "person" for w in ("people", "persons", "人", "名", "位")},
    **{w: "gb" for w in ("gb",)}, **{w: "mb" for w in ("mb",)}, **{w: "tb" for w in ("tb",)},
    **{w: "mu" for w in ("亩",)}, **{w: "hectare" for w in ("hectare", "hectares", "公顷")},
    **{w: "sqm" for w in ("平方米", "平米", "sqm")}, **{w: "sqkm" for w in ("平方公里",)},
    **{w: "item" for w in ("个", "件", "条", "项", "家", "所", "座", "部", "本", "张", "届", "场",
                           "级", "层", "次", "套", "只", "辆", "台", "间", "季", "集", "轮", "幅")},
    **CURRENCY,
}  # fmt: skip
