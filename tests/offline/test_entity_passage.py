"""Names and titles joined to the passages that name them, by hand."""

import pytest
from small_worlds import Capitals

from graphrag_bench.data.card import Card
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.data.dataset import Dataset, Document
from graphrag_bench.errors import UserError
from graphrag_bench.graph.graph import Graph
from graphrag_bench.graph.merges import Merge
from graphrag_bench.models.nlp import Sentence
from graphrag_bench.offline.entity_passage import entity_passage
from graphrag_bench.progress import Progress

CARD = Card(name="tiny", title="", task="", license="", citation="", reader="jsonl")
TABLE = ChunkTable.of(
    [
        ("a", "Hello (song)", "Otto sang Hello. Ten listened."),
        ("b", "History of Velia", "Velià fell. Otto left."),
        ("c", "", "Ada came."),
    ]
)


class Tagger(Capitals):
    """Capitalised words are people; `Ten` is a count."""

    def sentences(self, texts):
        for text in texts:
            kinds = {"Ten": "CARDINAL"}
            named = [word.strip(".()") for word in text.split() if word[0].isupper()]
            yield [Sentence(text, tuple((n, kinds.get(n, "PERSON")) for n in named), (), ())]


def made(
    table: ChunkTable = TABLE, documents: tuple[Document, ...] = (), **settings: object
) -> Graph:
    corpus = Dataset("tiny", documents, (), {}, CARD)
    return entity_passage(
        corpus=corpus, chunk_table=table, nlp=Tagger(), progress=Progress(quiet=True), **settings
    )


def test_titles_without_brackets_and_names_are_nodes_in_order_of_first_mention() -> None:
    assert list(made().names) == ["hello", "otto", "history of velia", "history", "velia", "ada"]


def test_the_title_of_a_passage_weighs_more_than_other_names_and_numbers_are_none() -> None:
    graph = made()
    assert graph.node_chunk.toarray().tolist() == [
        [3, 0, 0],
        [1, 1, 0],
        [0, 3, 0],
        [0, 1, 0],
        [0, 1, 0],
        [0, 0, 1],
    ]
    assert made(title_weight=1).node_chunk.max() == 1
    assert graph.n_relationships == 0


def test_names_that_differ_in_accents_are_one_node_under_the_first_one_read() -> None:
    names = list(made(title_weight=0).names)
    assert names == ["otto", "hello", "velià", "ada"]
    assert "velià" not in list(made().names)


def test_without_titles_only_the_texts_are_read() -> None:
    assert "history of velia" not in list(made(title_weight=0).names)


def test_names_in_too_few_passages_are_left_out_unless_they_are_titles() -> None:
    graph = made(min_chunks=2)
    assert list(graph.names) == ["hello", "otto", "history of velia"]
    assert graph.node_chunk.toarray().tolist() == [[3, 0, 0], [1, 1, 0], [0, 3, 0]]


def test_a_corpus_without_a_name_is_refused() -> None:
    with pytest.raises(UserError, match="no entities"):
        made(ChunkTable.of([("a", "", "nothing here")]))


CURIES = ChunkTable.of(
    [
        ("a", "Marie Curie (chemist)", "Curie came."),
        ("b", "Pierre Curie", "Curie left. Marie left."),
        ("c", "", "Sklodowska came."),
    ]
)
KNOWN = (Document("a", "Marie Curie (chemist)", "Curie came.", aliases=("Sklodowska",)),)


class Whole(Tagger):
    """As the tagger, but two capitalised words in a row are one name."""

    def sentences(self, texts):
        for text, (sentence,) in zip(texts, super().sentences(texts), strict=True):
            names = [name for name, _ in sentence.entities]
            if text.split(" (")[0] == " ".join(names[:2]):
                names = [" ".join(names[:2]), *names[2:]]
            yield [Sentence(text, tuple((name, "PERSON") for name in names), (), ())]


def curies(**settings: object) -> Graph:
    corpus = Dataset("curies", KNOWN, (), {}, CARD)
    quiet = Progress(quiet=True)
    return entity_passage(
        corpus=corpus, chunk_table=CURIES, nlp=Whole(), progress=quiet, **settings
    )


def test_a_name_is_joined_to_the_passage_under_the_name_it_stands_for() -> None:
    graph = curies()
    assert list(graph.names) == ["marie curie", "curie", "pierre curie", "marie"]
    assert graph.node_chunk.toarray().tolist() == [[3, 0, 1], [1, 1, 0], [0, 3, 0], [0, 1, 0]]


def test_a_name_of_several_things_stays_a_node_and_a_name_of_one_does_not() -> None:
    assert "curie" in list(curies().names)
    assert "sklodowska" not in list(curies().names)


def test_every_merge_is_listed_with_its_rule_and_document_and_kept_on_disk(tmp_path) -> None:
    graph = curies()
    assert graph.merges == (
        Merge("marie curie chemist", "marie curie", "brackets", "a", True),
        Merge("sklodowska", "marie curie", "redirects", "a", True),
        Merge("curie", "marie curie", "surnames", "a", False),
        Merge("curie", "pierre curie", "surnames", "b", False),
    )
    graph.save(tmp_path)
    assert Graph.load(tmp_path).merges == graph.merges


def test_an_alias_of_one_node_is_found_in_a_question_and_one_of_two_is_its_own() -> None:
    graph = curies()
    assert graph.dictionary.row("Sklodowska") == 0
    assert graph.dictionary.matches("When did sklodowska come?") == [("sklodowska", 0)]
    assert graph.dictionary.row("Curie") == list(graph.names).index("curie")


def test_without_rules_names_stay_as_they_are_read() -> None:
    graph = curies(resolve=())
    names = ["marie curie", "curie", "pierre curie", "marie", "sklodowska"]
    assert list(graph.names) == names
    assert [merge.rule for merge in graph.merges] == ["brackets"]


def test_merges_are_counted_by_rule(capsys) -> None:
    corpus = Dataset("curies", KNOWN, (), {}, CARD)
    entity_passage(corpus=corpus, chunk_table=CURIES, nlp=Whole(), progress=Progress())
    said = capsys.readouterr().err
    assert "names merged: 1 by brackets, 1 by redirects, 2 by surnames" in said
