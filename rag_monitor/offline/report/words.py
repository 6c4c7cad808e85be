"""The words of reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

from rag_monitor.i18n import ENGLISH, Message, tag_of, translate
from rag_monitor.metrics.names import METRIC_NAMES
from rag_monitor.metrics.reason_words import REASONS

_WORDS: Final[Mapping[str, Message]] = {
    "title": Message("Evaluation report"),
    "rows": Message("rows"),
    "row": Message("Row"),
    "failed_rows": Message("failed rows"),
    "flagged": Message("flagged as unsupported"),
    "judge": Message.within("report", "Judge"),
    "no_judge": Message("none"),
    "created": Message("Created"),
    "took": Message("Took"),
    "seconds": Message("s"),
    "overview": Message("At a glance"),
    "metrics": Message("All metrics"),
    "metric": Message("Metric"),
    "mean": Message("Mean"),
    "interval": Message("95% interval"),
    "scored": Message("Scored"),
    "without": Message("Without a value"),
    "why": Message("Why"),
    "not_applicable": Message("not applicable"),
    "failed": Message("failed"),
    "suspect": Message("suspect"),
    "distribution": Message("Distribution"),
    "distributions": Message("Distributions"),
    "distributions_hint": Message("Rows by value; the line is the mean."),
    "corpus": Message("Corpus figures"),
    "corpus_hint": Message("Computed over all rows at once, not averaged."),
    "targets": Message("Targets"),
    "target": Message("Target"),
    "value": Message("Value"),
    "met": Message("met"),
    "missed": Message("missed"),
    "unmeasured": Message("not measured"),
    "missing": Message("Rows without a score"),
    "targets_met": Message("targets met"),
    "groups": Message("Groups"),
    "by_app": Message("By application"),
    "by_dataset": Message("By data set"),
    "by_lang": Message("By language"),
    "by_model": Message("By model"),
    "by_release": Message("By release"),
    "by_knowledge_base": Message("By knowledge base"),
    "reliability": Message("Can the judge be believed?"),
    "reliability_hint": Message(
        "Rows that people labelled, by the judge's P(answer supported). On the diagonal, stated and"
        " observed agree; the size of a point is its number of rows."
    ),
    "stated": Message("stated probability"),
    "observed": Message("share people call faithful"),
    "labelled_rows": Message("labelled rows"),
    "ece": Message("Calibration error"),
    "brier": Message("Brier score"),
    "auroc": Message("AUROC"),
    "figure": Message("Figure"),
    "balanced_accuracy": Message("Balanced accuracy"),
    "kappa": Message.within("report", "Cohen's κ"),
    "judged_rows": Message("judged"),
    "unfaithful_rows": Message("unfaithful by people's labels"),
    "sources": Message("independent sources"),
    "by_task": Message("By task"),
    "threshold": Message("Flag threshold"),
    "before_fit": Message("Before"),
    "held_out": Message("On sources the fit never saw"),
    "base_rate": Message("Of a constant guess"),
    "not_held_out": Message(
        "Too few sources, or of one kind only: not measured on sources the fit never saw."
    ),
    "teacher": Message("Teacher"),
    "rows_read": Message.within("report", "rows"),
    "answers": Message("answers"),
    "claims": Message("statements"),
    "rejected": Message("rejected by the teacher"),
    "language_en": Message("English"),
    "language_zh": Message("Chinese"),
    "not_learnt": Message("too few answers of both kinds: the weights from before are kept"),
    "bias": Message("Order and length bias"),
    "position_asked": Message("Rows judged in both orders"),
    "position_failed": Message("Rows that failed in one of them"),
    "position_mean_shift": Message("Mean shift when passages are reversed"),
    "position_noise": Message("Mean shift in the same order"),
    "position_flipped": Message("Share of verdicts that flipped"),
    "length_correlation": Message("Score against answer length (correlation)"),
    "length_auroc": Message("AUROC of the score"),
    "length_auroc_without": Message("AUROC without the part of length"),
    "length_auroc_alone": Message("AUROC of length alone"),
    "confusion": Message("Right and wrong labels"),
    "confusion_classification": Message("Classification"),
    "confusion_faithfulness": Message("Flag against people's labels"),
    "confusion_plugin": Message("Plugin routing"),
    "confusion_knowledge_base": Message("Knowledge-base routing"),
    "confusion_workflow": Message("Workflow routing"),
    "faithful": Message("faithful"),
    "unfaithful": Message("unfaithful"),
    "truth_predicted": Message("true ↓ · predicted →"),
    "label": Message("Label"),
    "precision": Message("Precision"),
    "recall": Message("Recall"),
    "false_positive_rate": Message("FPR"),
    "false_negative_rate": Message("FNR"),
    "f1": Message("F1"),
    "accuracy": Message("Accuracy"),
    "macro_precision": Message("Macro precision"),
    "macro_recall": Message("Macro recall"),
    "macro_f1": Message("Macro F1"),
    "micro_precision": Message("Micro precision"),
    "micro_recall": Message("Micro recall"),
    "micro_f1": Message("Micro F1"),
    "accuracy_hint": Message(
        "Accuracy misleads when one label is rare; read it beside the others."
    ),
    "more_labels": Message("further labels not shown"),
    "hit_rates": Message("Hit rates"),
    "basis_all": Message("all rows"),
    "basis_expected": Message("rows that expected it"),
    "kind_plugin": Message("plugin"),
    "kind_knowledge_base": Message("knowledge base"),
    "kind_workflow": Message("workflow"),
    "basis": Message("Basis"),
    "name": Message("Name"),
    "rate": Message("Rate"),
    "worst": Message("Worst rows"),
    "worst_by": Message("lowest {}"),
    "worst_hint": Message(
        "Statements that are more likely unsupported than not are marked; hover for the"
        " probability."
    ),
    "question": Message("Question"),
    "answer": Message("Answer"),
    "reference": Message("Reference"),
    "passages": Message.within("report", "Passages"),
    "no_passages": Message("Nothing was retrieved."),
    "supported": Message("P(supported)"),
    "people_faithful": Message("people: faithful"),
    "people_unfaithful": Message("people: unfaithful"),
    "cut": Message("shortened for this report"),
    "errors": Message("Rows that failed"),
    "notes": Message("How it was measured"),
    "note_meteor": Message("METEOR stages"),
    "note_left_out": Message("Left out, libraries not installed (extra `metrics`)"),
    "note_terms": Message("Domain terms kept whole"),
    "note_key_terms": Message("Key terms with a weight in ROUGE"),
    "note_summary_coefficient": Message("Share of conciseness in the summary score"),
    "note_k": Message("Cut-off of rankings"),
    "note_encoder": Message("Encoder"),
    "note_perplexity_model": Message("Language model"),
    "note_similarity_share": Message("Share of similarity in answer correctness"),
    "note_resumed": Message("Rows taken over from an interrupted run"),
    "note_mean": Message(
        "Means are over the rows that have a value; a row without one is never counted as 0."
    ),
    "note_interval": Message(
        "Intervals: effective-count Wilson for means in 0–1, normal for others, grouped jackknife"
        " for corpus figures and averages over labels. Rows are taken as independent."
    ),
    "better_low": Message("lower is better"),
    "other": Message("other"),
    "made_by": Message("Made by rag-monitor"),
    "family_judge": Message.within("report", "Judged"),
    "family_text": Message("Against the reference"),
    "family_model": Message("By a model"),
    "family_ranking": Message("Ranking"),
    "family_latency": Message("Latency"),
    "percentiles": Message("Percentiles of latency"),
    "hit_rate": Message("Hit rate"),
    "better": Message.within("report", "better"),
    "worse": Message.within("report", "worse"),
    "same": Message("no change"),
    "difference": Message("Difference"),
    "regressions": Message("Worst regressions"),
    "loss": Message("Loss"),
    "pairs": Message("Pairs"),
    "comparison": Message("Comparison of two evaluations"),
    "b_minus_a": Message("B minus A"),
    "comparison_hint": Message(
        "Better and worse are said only of metrics that stand out among all (Benjamini-Hochberg, "
        "5%); ▲ / ▼: rows where B is better, worse."
    ),
    "incomplete": Message("incomplete"),
    "not_paired": Message("only in one file"),
    "reported": Message("Reported by other tools"),
    "reported_hint": Message(
        "From columns of the file, as they are: scales and judges are not known here."
    ),
    "unread": Message("Passages that could not be read"),
    "any_name": Message("any"),
    "repeated_ids": Message("left out, their id had come before"),
}

_TIMES: Final = {
    **{
        name: Message(METRIC_NAMES[name])
        for name in ("first_byte_ms", "generation_ms", "end_to_end_ms", "retrieval_ms")
    },
    "first_token_ms": Message("First token"),
}


def _times() -> dict[str, Message]:
    """Means of times and their percentiles, with the unit."""
    return {
        f"{name}{suffix}": Message(
            "{time}{percentile} (ms)", time=label, percentile=suffix.replace("_", " ")
        )
        for name, label in _TIMES.items()
        for suffix in ("", "_p50", "_p90", "_p99")
    }


def _rouge_parts(name: str, part: Message) -> dict[str, Message]:
    """Precision or recall of every variant of ROUGE."""
    variants = {"1": "1", "2": "2", "l": "L", "s": "S"}
    return {
        f"rouge_{variant}_{name}": Message("ROUGE-{variant} {part}", variant=shown, part=part)
        for variant, shown in variants.items()
    } | {f"rouge_l_characters_{name}": Message("ROUGE-L {part} (characters)", part=part)}


_METRICS: Final[Mapping[str, Message]] = {
    **{name: Message(label) for name, label in METRIC_NAMES.items()},
    "context_entity_recall": Message("Context entity recall"),
    "answer_correctness": Message("Answer correctness"),
    "noise_sensitivity": Message("Noise sensitivity"),
    "noise_sensitivity_irrelevant": Message("Noise sensitivity (irrelevant)"),
    "bleu_1": Message("BLEU-1"),
    "bleu_2": Message("BLEU-2"),
    "bleu_3": Message("BLEU-3"),
    "bleu_4": Message("BLEU-4"),
    "rouge_1": Message("ROUGE-1"),
    "rouge_2": Message("ROUGE-2"),
    "rouge_l": Message("ROUGE-L"),
    "rouge_s": Message("ROUGE-S"),
    "rouge_l_characters": Message("ROUGE-L (characters)"),
    "meteor": Message("METEOR"),
    "exact_match": Message("Exact match"),
    "token_f1": Message("Token F1"),
    "character_f1": Message("Character F1"),
    "bertscore_precision": Message("BERTScore P"),
    "bertscore_recall": Message("BERTScore R"),
    "bertscore_f1": Message("BERTScore F1"),
    "semantic_similarity": Message("Semantic similarity"),
    "perplexity": Message("Perplexity"),
    "corpus_perplexity": Message("Perplexity, token-weighted"),
    "corpus_bleu_1": Message("Corpus BLEU-1"),
    "corpus_bleu_2": Message("Corpus BLEU-2"),
    "corpus_bleu_3": Message("Corpus BLEU-3"),
    "corpus_bleu_4": Message("Corpus BLEU-4"),
    "retrieval_precision": Message("Retrieval precision"),
    "retrieval_recall": Message("Retrieval recall"),
    "retrieval_f1": Message("Retrieval F1"),
    "average_precision": Message("MAP"),
    "ndcg": Message("NDCG"),
    "reciprocal_rank": Message("MRR"),
    "retrieval_hit": Message("Hit rate"),
    **_rouge_parts("precision", Message.within("report", "P")),
    **_rouge_parts("recall", Message.within("report", "R")),
    **_times(),
}

_REASONS: Final[Mapping[str, Message]] = {
    "refusal": Message("the answer declines"),
    "refusal_on_empty_contexts": Message("rightly declined: nothing retrieved"),
    "empty_answer": Message("no answer"),
    "no_answer": Message("no answer"),
    "no_question": Message("no question"),
    "no_reference": Message("no reference"),
    "no_statements": Message("no statements"),
    "no_key_points": Message("no key points"),
    "no_contexts": Message("nothing retrieved"),
    "contexts_unknown": Message("contexts unknown"),
    "languages_differ": Message("in another language"),
    "contexts_without_ids": Message("passages without ids"),
    "no_relevant_ids": Message("no relevant ids"),
    "labels_do_not_match_contexts": Message("not as many labels as passages"),
    "no_relevant_passage": Message("no passage is relevant"),
    "only_retrieved_labelled": Message("labels cover retrieved passages only"),
    "fewer_than_two_tokens": Message("fewer than two tokens"),
    "not_measured": Message.within("report", "not measured"),
    "no_prediction": Message("no prediction"),
    "no_label": Message("no label"),
    "unreadable_row": Message("row cannot be read"),
    "only_in_one_file": Message("only in one file"),
    "no_value": Message("no value"),
    "question_failed": Message("not answered"),
    "empty_reply": Message("answer without text"),
    "not_stored": Message("not stored"),
    "no_tokens_in_the_reference": Message("no tokens in the reference"),
    "no_entities": Message("no entities in the reference"),
    "no_embedder": Message("no embedder"),
    "judge_behind": Message("judge did not get to it in time"),
    "judge_timeout": Message("judge timed out"),
    "judge_unavailable": Message("judge not available"),
    "judge_refused": Message("judge's server refuses us"),
    "judge_quota": Message("judge's quota used up"),
    "other_model_served": Message("another model answered"),
    "judge_output_invalid": Message("judge's output unusable"),
    "input_too_long": Message.within("report", "longer than the judge can read"),
    "request_refused": Message("judge refused the request"),
    "reply_withheld": Message("filtered, or declined by the model"),
    "reply_cut": Message("model thought, and had no room to reply"),
    "low_label_mass": Message("neither yes nor no"),
    "budget_exhausted": Message("budget spent"),
    "judge_error": Message("judge failed"),
    "verdict_missing": Message("a verdict is missing"),
    "unsupported_aspect": Message("the judge cannot answer this"),
}


class Words:
    """Looks up words of one language; what has no entry is shown as it is.

    Args:
        language: Its code.
    """

    def __init__(self, language: str) -> None:
        self.language = language
        self.tag = tag_of(language)

    def __call__(self, key: str) -> str:
        """A word of the report's own."""
        return self._find(_WORDS, key)

    def label(self, title: str, name: str) -> str:
        """A label of a confusion matrix: ours are translated, those of the file are not."""
        return self(name) if title == "faithfulness" else name

    def metric(self, name: str) -> str:
        """A metric's name for people; a rate of labels or hits with what it is of."""
        if name in _METRICS:
            return self._find(_METRICS, name)
        rate, slash, of = name.partition("/")
        return f"{self(rate)}{' ' if slash else ''}{of}"

    def reason(self, word: str) -> str:
        """Why a row has no value, or a statement its verdict."""
        return (
            self._find(_REASONS, word) if word in _REASONS else self._say(REASONS.get(word, word))
        )

    def error(self, text: str) -> str:
        """Why a row failed, as a report lists it: `id: reason`, or `row 3: reason`.

        English keeps the machine words of judges and metrics in it.
        """
        worded = text if self.language == ENGLISH else _worded(text)
        return translate(worded, self.language)

    def note(self, note: str) -> str:
        """A note of an evaluation: `key=value`."""
        key, _, value = note.partition("=")
        return f"{self(f'note_{key}')}: {value}" if value else self(f"note_{key}")

    def joined(self, parts: Iterable[str]) -> str:
        """Parts of one line, with the language's comma."""
        return translate(Message.within("report", ", "), self.language).join(parts)

    def moment(self, text: str) -> str:
        """An ISO 8601 moment to the minute, with its zone."""
        moment = datetime.fromisoformat(text)
        return f"{moment:%Y-%m-%d %H:%M} {moment.tzname() or ''}".rstrip()

    def _say(self, text: str) -> str:
        return translate(Message(text), self.language)

    def _find(self, table: Mapping[str, Message], key: str) -> str:
        return translate(table.get(key, key), self.language)


def _worded(reason: object) -> object:
    """With words for people instead of the machine words in a message."""
    if isinstance(reason, Message) and reason.params:
        return reason.given(**{name: _worded(value) for name, value in reason.params.items()})
    return _REASONS.get(reason, reason) if isinstance(reason, str) else reason


def percent(share: float) -> str:
    """A share for people; nothing where there is none."""
    return f"{100 * share:.3g}%" if share else ""


def number(value: float | None) -> str:
    """A score for people: three digits, fewer for large numbers, a dash for none."""
    if value is None:
        return "–"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.3f}"


def ends(lower: float | None, upper: float | None) -> str:
    """An interval for people."""
    return "–" if lower is None or upper is None else f"{number(lower)} – {number(upper)}"
