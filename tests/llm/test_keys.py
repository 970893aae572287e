from test_json_replies import City

from graphrag_bench.embedding.openai_embedder import OpenAIEmbedder
from graphrag_bench.llm.cache import reply_key
from graphrag_bench.llm.calls import Request
from graphrag_bench.llm.json_replies import schema_of
from graphrag_bench.llm.local import Local
from graphrag_bench.llm.openai_compatible import OpenAICompatible
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.prompts import Message

MINI = "gpt-4o-mini:f93e1e334878"
WARM = {"temperature": 0.7, "top_p": 0.9, "seed": None, "extra": {"reasoning_effort": "low"}}
CHAT = (Message("system", "Be short."), Message("user", "Who founded Norvik? é\ud800"))


def test_identities_of_models(tmp_path):
    path = tmp_path / "small.gguf"
    path.write_bytes(b"one")
    assert OpenAICompatible("gpt-4o-mini").identity == MINI
    assert OpenAICompatible("m", decoding=WARM).identity == "m:8d9826ffc83f"
    assert Local(str(path)).identity == "small.gguf@7692c3ad3540:f93e1e334878"
    assert Local(str(path), decoding={"seed": 3}).identity == "small.gguf@7692c3ad3540:19dd677b4d1b"
    assert Scripted({"a": "b"}).identity == "scripted:d1568b4ead36"
    prefixes = {"question_prefix": "q: ", "passage_prefix": "p: "}
    cut = OpenAIEmbedder("bge-m3", 1024, shorten=True, long_texts="cut", window=8192, **prefixes)
    assert cut.identity == "openai:bge-m3:1024(shortened):unit:long=cut(8192):prefixes=q: ,p: "
    windows = OpenAIEmbedder("mine", 8, window=500, tokenizer="o200k")
    assert windows.identity == "openai:mine:8:unit:long=windows(500, o200k):prefixes=,"


def test_each_field_of_a_request_changes_the_key() -> None:
    for request_, key in (
        (Request(CHAT, 20), "bb49285d8e767cd72160cb712c5f6321"),
        (Request(CHAT, 21), "286235b82c5af433f88f68e129442b0d"),
        (Request(CHAT, 20, ("\n",)), "94d347d166ace63681013ea4bf8d195c"),
        (Request(CHAT, 20, (), schema_of(City)), "570983242ad725433f28e040de8c29bc"),
        (Request(CHAT, 20, (), None, 3), "64937500f4ad45d1487aa38568d6ce11"),
    ):
        assert reply_key(MINI, request_)[0] == key
