"""The words of reports in English and Chinese."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

from rag_monitor.evaluation.problems import problem
from rag_monitor.metrics.names import METRIC_NAMES

LANGUAGES: Final = ("en", "zh")

_WORDS: Final[Mapping[str, tuple[str, str]]] = {
    "title": ("Evaluation report", "评测报告"),
    "rows": ("rows", "行"),
    "row": ("Row", "行"),
    "failed_rows": ("failed rows", "失败行"),
    "flagged": ("flagged as unsupported", "标记为无依据"),
    "judge": ("Judge", "评审模型"),
    "no_judge": ("none", "无"),
    "created": ("Created", "生成时间"),
    "took": ("Took", "用时"),
    "seconds": ("s", "秒"),
    "overview": ("At a glance", "概览"),
    "metrics": ("All metrics", "全部指标"),
    "metric": ("Metric", "指标"),
    "mean": ("Mean", "均值"),
    "interval": ("95% interval", "95% 置信区间"),
    "scored": ("Scored", "已评分"),
    "without": ("Without a value", "无值"),
    "why": ("Why", "原因"),
    "not_applicable": ("not applicable", "不适用"),
    "failed": ("failed", "失败"),
    "suspect": ("suspect", "可疑"),
    "distribution": ("Distribution", "分布"),
    "distributions": ("Distributions", "分布"),
    "distributions_hint": (
        "Rows by value; the line is the mean.",
        "按取值统计的行数；竖线为均值。",
    ),
    "corpus": ("Corpus figures", "语料级指标"),
    "corpus_hint": (
        "Computed over all rows at once, not averaged.",
        "对全部数据整体计算，而非逐行平均。",
    ),
    "targets": ("Targets", "目标"),
    "target": ("Target", "目标"),
    "value": ("Value", "值"),
    "met": ("met", "达标"),
    "missed": ("missed", "未达标"),
    "unmeasured": ("not measured", "未测量"),
    "targets_met": ("targets met", "达标目标"),
    "groups": ("Groups", "分组对比"),
    "by_app": ("By application", "按应用"),
    "by_dataset": ("By data set", "按数据集"),
    "by_lang": ("By language", "按语言"),
    "by_model": ("By model", "按模型"),
    "by_release": ("By release", "按版本"),
    "by_knowledge_base": ("By knowledge base", "按知识库"),
    "reliability": ("Can the judge be believed?", "评审模型可信吗？"),
    "reliability_hint": (
        "Rows that people labelled, by the judge's P(answer supported). On the diagonal, stated and"
        " observed agree; the size of a point is its number of rows.",
        "人工标注的行，按评审模型给出的 P(回答有依据) 分组。落在对角线上表示概率与实际一致；"
        "点的大小代表行数。",
    ),
    "stated": ("stated probability", "评审模型给出的概率"),
    "observed": ("share people call faithful", "人工判定忠实的比例"),
    "labelled_rows": ("labelled rows", "标注行"),
    "ece": ("Calibration error", "校准误差"),
    "brier": ("Brier score", "Brier 分数"),
    "auroc": ("AUROC", "AUROC"),
    "figure": ("Figure", "数值"),
    "balanced_accuracy": ("Balanced accuracy", "平衡准确率"),
    "kappa": ("Cohen's κ", "Cohen κ"),
    "judged_rows": ("judged", "已评审"),
    "unfaithful_rows": ("unfaithful by people's labels", "人工标注为不忠实"),
    "sources": ("independent sources", "独立来源"),
    "by_task": ("By task", "按任务"),
    "threshold": ("Flag threshold", "标记阈值"),
    "before_fit": ("Before", "之前"),
    "held_out": ("On sources the fit never saw", "在未用于拟合的来源上"),
    "base_rate": ("Of a constant guess", "固定猜测"),
    "not_held_out": (
        "Too few sources, or of one kind only: not measured on sources the fit never saw.",
        "来源太少或只有一类，无法在未用于拟合的来源上测量。",
    ),
    "teacher": ("Teacher", "教师模型"),
    "rows_read": ("rows", "行数"),
    "answers": ("answers", "回答"),
    "claims": ("statements", "陈述"),
    "rejected": ("rejected by the teacher", "教师模型判为无依据"),
    "language_en": ("English", "英文"),
    "language_zh": ("Chinese", "中文"),
    "not_learnt": (
        "too few answers of both kinds: the weights from before are kept",
        "两类回答不够，沿用原有权重",
    ),
    "bias": ("Order and length bias", "顺序与长度偏差"),
    "position_asked": ("Rows judged in both orders", "两种顺序都评审的行"),
    "position_failed": ("Rows that failed in one of them", "其中一种失败的行"),
    "position_mean_shift": ("Mean shift when passages are reversed", "颠倒段落后的平均变化"),
    "position_noise": ("Mean shift in the same order", "顺序不变时的平均变化"),
    "position_flipped": ("Share of verdicts that flipped", "结论改变的比例"),
    "length_correlation": ("Score against answer length (correlation)", "分数与回答长度的相关"),
    "length_auroc": ("AUROC of the score", "分数的 AUROC"),
    "length_auroc_without": ("AUROC without the part of length", "去掉长度影响后的 AUROC"),
    "length_auroc_alone": ("AUROC of length alone", "仅凭长度的 AUROC"),
    "confusion": ("Right and wrong labels", "混淆矩阵"),
    "confusion_classification": ("Classification", "分类"),
    "confusion_faithfulness": ("Flag against people's labels", "标记与人工标注对比"),
    "confusion_plugin": ("Plugin routing", "插件路由"),
    "confusion_knowledge_base": ("Knowledge-base routing", "知识库路由"),
    "confusion_workflow": ("Workflow routing", "工作流路由"),
    "faithful": ("faithful", "忠实"),
    "unfaithful": ("unfaithful", "不忠实"),
    "truth_predicted": ("true ↓ · predicted →", "真实 ↓ · 预测 →"),
    "label": ("Label", "标签"),
    "precision": ("Precision", "精确率"),
    "recall": ("Recall", "召回率"),
    "false_positive_rate": ("FPR", "误报率"),
    "false_negative_rate": ("FNR", "漏报率"),
    "f1": ("F1", "F1"),
    "accuracy": ("Accuracy", "准确率"),
    "macro_precision": ("Macro precision", "宏平均精确率"),
    "macro_recall": ("Macro recall", "宏平均召回率"),
    "macro_f1": ("Macro F1", "宏平均 F1"),
    "micro_precision": ("Micro precision", "微平均精确率"),
    "micro_recall": ("Micro recall", "微平均召回率"),
    "micro_f1": ("Micro F1", "微平均 F1"),
    "accuracy_hint": (
        "Accuracy misleads when one label is rare; read it beside the others.",
        "当某一标签很少时，准确率会误导，请结合其他指标阅读。",
    ),
    "more_labels": ("further labels not shown", "个标签未显示"),
    "hit_rates": ("Hit rates", "命中率"),
    "basis_all": ("all rows", "全部行"),
    "basis_expected": ("rows that expected it", "期望命中的行"),
    "kind_plugin": ("plugin", "插件"),
    "kind_knowledge_base": ("knowledge base", "知识库"),
    "kind_workflow": ("workflow", "工作流"),
    "basis": ("Basis", "基准"),
    "name": ("Name", "名称"),
    "rate": ("Rate", "比率"),
    "worst": ("Worst rows", "最差的行"),
    "worst_by": ("lowest {}", "{}最低"),
    "worst_hint": (
        "Statements that are more likely unsupported than not are marked; hover for the"
        " probability.",
        "更可能无依据的语句已标出；悬停可查看概率。",
    ),
    "question": ("Question", "问题"),
    "answer": ("Answer", "回答"),
    "reference": ("Reference", "参考答案"),
    "passages": ("Passages", "检索段落"),
    "no_passages": ("Nothing was retrieved.", "没有检索到内容。"),
    "supported": ("P(supported)", "P(有依据)"),
    "people_faithful": ("people: faithful", "人工：忠实"),
    "people_unfaithful": ("people: unfaithful", "人工：不忠实"),
    "cut": ("shortened for this report", "为便于展示已截短"),
    "errors": ("Rows that failed", "失败的行"),
    "notes": ("How it was measured", "测量说明"),
    "note_meteor": ("METEOR stages", "METEOR 阶段"),
    "note_left_out": (
        "Left out, libraries not installed (rag-monitor[metrics])",
        "未计算，缺少依赖库（rag-monitor[metrics]）",
    ),
    "note_terms": ("Domain terms kept whole", "不切分的领域词数"),
    "note_k": ("Cut-off of rankings", "排序截断 k"),
    "note_encoder": ("Encoder", "编码器"),
    "note_perplexity_model": ("Language model", "语言模型"),
    "note_similarity_share": (
        "Share of similarity in answer correctness",
        "语义相似度在回答正确性中的权重",
    ),
    "note_resumed": ("Rows taken over from an interrupted run", "接续中断评测的行数"),
    "note_mean": (
        "Means are over the rows that have a value; a row without one is never counted as 0.",
        "均值只统计有值的行；无值的行绝不按 0 计入。",
    ),
    "note_interval": (
        "Intervals: effective-count Wilson for means in 0–1, normal for others, grouped jackknife"
        " for corpus figures and averages over labels. Rows are taken as independent.",
        "区间：0–1 均值用有效样本量 Wilson 区间，其他均值用正态区间，"
        "语料级与标签平均指标用分组刀切法；各行视为相互独立。",
    ),
    "better_low": ("lower is better", "越低越好"),
    "other": ("other", "其他"),
    "made_by": ("Made by rag-monitor", "由 rag-monitor 生成"),
    "family_judge": ("Judged", "评审指标"),
    "family_text": ("Against the reference", "参考文本指标"),
    "family_model": ("By a model", "模型指标"),
    "family_ranking": ("Ranking", "排序指标"),
    "comparison": ("Comparison", "对比"),
    "better": ("better", "变好"),
    "worse": ("worse", "变差"),
    "same": ("no change", "无明显变化"),
    "difference": ("Difference", "差值"),
    "regressions": ("Worst regressions", "退步最多的行"),
    "loss": ("Loss", "退步"),
    "not_paired": ("only in one file", "仅在一个文件中"),
    "repeated_ids": ("left out, their id had come before", "编号重复，未计入"),
}

_METRICS: Final[Mapping[str, tuple[str, str]]] = {
    **METRIC_NAMES,
    "context_entity_recall": ("Context entity recall", "上下文实体召回率"),
    "answer_correctness": ("Answer correctness", "回答正确性"),
    "noise_sensitivity": ("Noise sensitivity", "噪声敏感度"),
    "noise_sensitivity_irrelevant": ("Noise sensitivity (irrelevant)", "噪声敏感度（无关段落）"),
    "bleu_1": ("BLEU-1", "BLEU-1"),
    "bleu_2": ("BLEU-2", "BLEU-2"),
    "bleu_3": ("BLEU-3", "BLEU-3"),
    "bleu_4": ("BLEU-4", "BLEU-4"),
    "rouge_1": ("ROUGE-1", "ROUGE-1"),
    "rouge_2": ("ROUGE-2", "ROUGE-2"),
    "rouge_l": ("ROUGE-L", "ROUGE-L"),
    "rouge_s": ("ROUGE-S", "ROUGE-S"),
    "rouge_l_characters": ("ROUGE-L (characters)", "ROUGE-L（字）"),
    "meteor": ("METEOR", "METEOR"),
    "exact_match": ("Exact match", "精确匹配"),
    "token_f1": ("Token F1", "词级 F1"),
    "character_f1": ("Character F1", "字级 F1"),
    "bertscore_precision": ("BERTScore P", "BERTScore P"),
    "bertscore_recall": ("BERTScore R", "BERTScore R"),
    "bertscore_f1": ("BERTScore F1", "BERTScore F1"),
    "semantic_similarity": ("Semantic similarity", "语义相似度"),
    "perplexity": ("Perplexity", "困惑度"),
    "corpus_perplexity": ("Perplexity, token-weighted", "困惑度（按词元加权）"),
    "corpus_bleu_1": ("Corpus BLEU-1", "语料 BLEU-1"),
    "corpus_bleu_2": ("Corpus BLEU-2", "语料 BLEU-2"),
    "corpus_bleu_3": ("Corpus BLEU-3", "语料 BLEU-3"),
    "corpus_bleu_4": ("Corpus BLEU-4", "语料 BLEU-4"),
    "retrieval_precision": ("Retrieval precision", "检索精确率"),
    "retrieval_recall": ("Retrieval recall", "检索召回率"),
    "retrieval_f1": ("Retrieval F1", "检索 F1"),
    "average_precision": ("MAP", "MAP"),
    "ndcg": ("NDCG", "NDCG"),
    "reciprocal_rank": ("MRR", "MRR"),
    "retrieval_hit": ("Hit rate", "命中率"),
}

_REASONS: Final[Mapping[str, tuple[str, str]]] = {
    "refusal": ("the answer declines", "回答为拒答"),
    "refusal_on_empty_contexts": ("rightly declined: nothing retrieved", "无检索内容时的合理拒答"),
    "empty_answer": ("no answer", "没有回答"),
    "no_answer": ("no answer", "没有回答"),
    "no_question": ("no question", "没有问题"),
    "no_reference": ("no reference", "没有参考答案"),
    "no_statements": ("no statements", "没有可核查的陈述"),
    "no_key_points": ("no key points", "没有要点"),
    "no_contexts": ("nothing retrieved", "没有检索内容"),
    "contexts_unknown": ("contexts unknown", "上下文未知"),
    "languages_differ": ("in another language", "语言不同，无法比对"),
    "contexts_without_ids": ("passages without ids", "段落没有编号"),
    "no_relevant_ids": ("no relevant ids", "没有标注相关编号"),
    "labels_do_not_match_contexts": (
        "not as many labels as passages",
        "标注数与段落数不一致",
    ),
    "no_relevant_passage": ("no passage is relevant", "没有相关段落"),
    "only_retrieved_labelled": (
        "labels cover retrieved passages only",
        "标注仅覆盖已检索段落",
    ),
    "no_tokens": ("no tokens", "没有词元"),
    "no_tokens_in_the_reference": ("no tokens in the reference", "参考答案没有词元"),
    "no_entities": ("no entities in the reference", "参考答案没有实体"),
    "no_embedder": ("no embedder", "没有向量模型"),
    "judge_behind": ("judge did not get to it in time", "评审模型未能及时处理"),
    "judge_timeout": ("judge timed out", "评审模型超时"),
    "judge_unavailable": ("judge not available", "评审模型不可用"),
    "judge_refused": ("judge's server refuses us", "评审模型的服务器拒绝访问"),
    "judge_output_invalid": ("judge's output unusable", "评审模型输出无法使用"),
    "input_too_long": ("longer than the judge can read", "超出评审模型可读的长度"),
    "request_refused": ("judge refused the request", "评审模型拒绝了该请求"),
    "reply_withheld": ("filtered, or declined by the model", "被内容过滤拦截，或模型拒绝评审"),
    "reply_cut": ("model thought, and had no room to reply", "模型思考用尽了篇幅，没有作答"),
    "low_label_mass": ("neither yes nor no", "既非“是”也非“否”"),
    "budget_exhausted": ("budget spent", "预算已用完"),
    "judge_error": ("judge failed", "评审模型出错"),
    "verdict_missing": ("a verdict is missing", "缺少判定"),
    "unsupported_aspect": ("the judge cannot answer this", "评审模型不支持该问题"),
}


class Words:
    """Looks up words of one language; what has no entry is shown as it is.

    Args:
        language: `en` or `zh`.
    """

    def __init__(self, language: str) -> None:
        self.language = language
        self._place = LANGUAGES.index(language)

    def __call__(self, key: str) -> str:
        """A word of the report's own."""
        return self._find(_WORDS, key)

    def label(self, title: str, name: str) -> str:
        """A label of a confusion matrix: ours are translated, those of the file are not."""
        return self(name) if title == "faithfulness" else name

    def metric(self, name: str) -> str:
        """A metric's name for people."""
        return self._find(_METRICS, name)

    def reason(self, word: str) -> str:
        """Why a row has no value."""
        return self._find(_REASONS, word)

    def error(self, text: str) -> str:
        """Why a row failed, as a report lists it: `id: reason`, or `row 3: reason`."""
        whole = problem(text, self.language)
        if whole != text or self.language == "en":
            return whole
        name, colon, reason = text.partition(": ")
        said = problem(reason, self.language)
        if said == reason:  # words of judges and metrics, several perhaps
            said = "；".join(map(self.reason, reason.split("; ")))
        return f"{name}：{said}" if colon else text

    def note(self, note: str) -> str:
        """A note of an evaluation: `key=value`."""
        key, _, value = note.partition("=")
        return f"{self(f'note_{key}')}: {value}" if value else self(f"note_{key}")

    def joined(self, parts: Iterable[str]) -> str:
        """Parts of one line, with the language's comma."""
        return ("，" if self.language == "zh" else ", ").join(parts)

    def moment(self, text: str) -> str:
        """An ISO 8601 moment to the minute, with its zone."""
        moment = datetime.fromisoformat(text)
        return f"{moment:%Y-%m-%d %H:%M} {moment.tzname() or ''}".rstrip()

    def _find(self, table: Mapping[str, tuple[str, str]], key: str) -> str:
        entry = table.get(key)
        return key if entry is None else entry[self._place]


def number(value: float | None) -> str:
    """A score for people: three digits, fewer for large numbers, a dash for none."""
    if value is None:
        return "–"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.3f}"
