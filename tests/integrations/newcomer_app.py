"""A small application of somebody's own: the ten lines that `newcomer.py` times."""

from langchain_core.embeddings import DeterministicFakeEmbedding as Embedding
from langchain_core.language_models import FakeListChatModel
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore

import rag_monitor_langchain

rag_monitor_langchain.instrument()
shelf = InMemoryVectorStore.from_texts(["The warranty lasts 24 months."], Embedding(size=8))
prompt = RunnableLambda(lambda asked: f"{shelf.as_retriever().invoke(asked)} {asked}")
chain = prompt | FakeListChatModel(responses=["It lasts 24 months."])
print(chain.invoke("How long is the warranty?").content)
