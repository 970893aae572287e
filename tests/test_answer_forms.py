"""Answer forms: the prompt and the token limit of each method follow the question."""

from dataclasses import replace
from functools import cache
from itertools import product

import pytest
from toy_runs import TOY, WEIGHTLESS, run_error, write_set

from graphrag_bench.config.compose import compose_settings, method_values
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.config.sources import method_file, names
from graphrag_bench.contract import operators
from graphrag_bench.data.dataset import load_card
from graphrag_bench.embedding.tokenizer import OpenAIEncoding
from graphrag_bench.explain.ablation import step_places
from graphrag_bench.llm.calls import Completion
from graphrag_bench.llm.chat import reply_tokens, reserved_tokens
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.prompts import UNBOUNDED, Message, Prompt, answer_form, sub_question_form
from graphrag_bench.question_plan import kind_of
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.run.plan import form_lines
from graphrag_bench.values import Context, Piece, Question
from methods.dalk.evidence import stepwise
from methods.subgraphrag.triples import listed
from methods.tog.answering import if_enough
from operators.answer.generation import Points, direct, reduce

CONTEXT = Context((Piece("chunk", "c", "Mira Holt was taught by Otto Brandt.", 1.0, 9),))
TRIPLETS = "methods:subgraphrag/prompts/system/triplets.j2"


class Listening(Scripted):
    """A model that answers `Otto` and records the token limits."""

    def __init__(self):
        super().__init__(answer=lambda _: "{Yes} {Otto}")
        self.most: list[int] = []

    def call(self, request):
        self.most.append(request.max_tokens)
        return super().call(request)


@cache
def experiment(*settings, dataset="toy", method="vanilla"):
    words = [f"dataset={dataset}", f"method={method}", *WEIGHTLESS, *settings]
    return Experiment.prepare(compose_settings(words))


def answer_prompt():
    return experiment().method.pipeline.generate[-1].operators()[0].settings["prompt"]


def test_the_answers_setting_overrides_the_card(tmp_path):
    for form, last in (("auto", "paragraph"), ("free", "paragraph"), ("list", "list")):
        forms = [q.form for q in experiment(f"answers={form}").dataset.questions]
        assert forms == [*["short" if form == "auto" else form] * 5, last]
    options = {"id": "o", "text": "Which?", "options": ["a", "b"], "correct": 0}
    themes = {"id": "t", "text": "Which themes?", "type": "abstract"}
    folder = write_set(tmp_path, [{"id": "d", "text": "Words."}], [options, themes])
    result = experiment(f"dataset.root={folder}", dataset="jsonl")
    assert [q.form for q in result.dataset.questions] == ["choice", "paragraph"]
    assert "answers='essay'" in run_error(*TOY, "answers=essay")


def test_a_question_is_abstract_by_type_or_card():
    for form, n_abstract in (("auto", 1), ("paragraph", 6)):
        toy = experiment(f"answers={form}").dataset  # its card has forms by type
        kinds = [kind_of(question) for question in toy.questions]
        assert kinds == [*["specific"] * (6 - n_abstract), *["abstract"] * n_abstract]
    same_form = replace(toy, card=load_card("musique")).in_form("paragraph")
    assert [kind_of(question) for question in same_form.questions].count("abstract") == 1


def test_every_answer_of_a_method_follows_its_form():
    load_plugins()
    for name in names("method"):
        places = step_places(method_values(method_file(name)))
        steps = [(operators.get(one.step["op"]), one.step) for one in places if "op" in one.step]
        assert (answering := [one for one in steps if "answer" in one[0].returns]), name
        for op, step in answering:
            prompt = Prompt(step["prompt"]) if "prompt" in step else op.settings["prompt"].default
            assert step.get("max_tokens", op.settings["max_tokens"].default) is None, name
            assert {"manner"} <= prompt.variables <= op.supplies, name


@pytest.mark.parametrize("form", ["short", "paragraph"])
@pytest.mark.parametrize("step", ["direct", "reduce", "enough", "stepwise", "listed"])
def test_prompt_and_limit_follow_the_form(step, form):
    llm, prompt = Listening(), answer_prompt()
    question = Question("q", "Who taught Mira Holt?", form=form)
    if step == "reduce":
        reduce(question, Points(("Otto.",), (90,)), llm=llm, tokenizer=OpenAIEncoding(),
               context_budget=UNBOUNDED)  # fmt: skip
    else:
        own = {"direct": {"prompt": prompt}, "listed": {"prompt": replace(prompt, name=TRIPLETS)}}
        answers = {"direct": direct, "listed": listed, "enough": if_enough, "stepwise": stepwise}
        answers[step](question, CONTEXT, llm=llm, **own.get(step, {}))
    wanted = answer_form(form)
    assert llm.most[-1] == wanted.max_tokens == {"short": 48, "paragraph": 512}[form]
    last = "\n".join(message.content for message in llm.prompts[-1])
    assert step == "enough" or (wanted.manner in last and last.endswith(wanted.cue))
    assert (answer_form("paragraph").manner in last) == (form == "paragraph")


@pytest.mark.parametrize(("profile", "most"), [("default", 512), ("zhou2025", 4096)])
def test_profiles_raise_the_answer_limit(profile, most):
    result, own = (experiment(f"profile={profile}", *more) for more in ([], ["answer_tokens=900"]))
    llm, overview = Listening(), result.dataset.questions[-1]
    for question in (overview, replace(overview, form="short"), own.dataset.questions[-1]):
        stepwise(question, CONTEXT, llm=llm)
    assert llm.most[1::2] == [most, 48, 900] and own.key != result.key
    assert f"{most:,} tokens" in " ".join(form_lines(result.method.pipeline, [overview]))


def test_published_runs_have_long_answers():
    house, published = (experiment("profile=paper", f"regime={one}", method="zeroshot")
                        for one in ("house", "published"))  # fmt: skip
    forms = [run.dataset.questions[0].answer_form for run in (house, published)]
    assert [(form.name, form.max_tokens) for form in forms] == [("short", 48), ("short", 2048)]
    assert house.key != published.key
    parts = {"list": "list", "choice": "short", "summary": "paragraph"}
    assert {form: sub_question_form(form, abstract=False) for form in parts} == parts
    assert sub_question_form("short", abstract=True) == "paragraph"


def test_an_answer_is_limited_by_the_window_and_a_cut_one_is_recorded():
    """A prompt of 1.15 x 2,000 tokens leaves 23 steps of 256 in a window of 8,192; the minimum is
    a sixteenth of the window, 512."""
    chat = (Message("user", "word " * 1999),)
    small = Scripted(window=8192)
    assert reply_tokens(small, chat, 4096) == 4096
    assert reply_tokens(small, chat, 8000) == 23 * 256
    assert reply_tokens(small, chat * 4, 4096) == reserved_tokens(4096, 8192) == 512
    assert reply_tokens(Scripted(), chat * 4, 4096) == 4096
    assert (reserved_tokens(4096, 32768), reserved_tokens(48, 8192)) == (2048, 48)
    for op, finish in product((direct, listed), ("stop", "length")):
        llm = Scripted([("", Completion("ans: Otto", finish=finish))])
        answer = op(Question("q", "Who?"), CONTEXT, llm=llm, prompt=answer_prompt())
        assert answer.cut == (finish == "length")


def test_the_key_has_the_answer_form(tmp_path):
    forms = (["answers=auto"], ["answers=short"], ["answers=paragraph"])
    assert len({experiment(*form).key for form in forms}) == 3
    facts = [{"id": "q", "text": "Who?", "answers": ["a"]}]  # no abstract question
    own = f"dataset.root={write_set(tmp_path / 'set', [{'id': 'd', 'text': 'Words.'}], facts)}"
    assert len({experiment(own, *form, dataset="jsonl").key for form in forms[:2]}) == 1
