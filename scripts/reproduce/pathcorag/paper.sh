#!/bin/sh
# PathCoRAG at the paper's settings. What is given is laid over every run.
set -e
# Table 6: HotpotQA, 1,000 questions
graphrag-bench fetch dataset=hotpotqa
graphrag-bench table pathcorag/table6 --run "$@"

# Table 5: NovelQA comes by hand (its card says how), InfiniteBench by fetch
graphrag-bench fetch dataset=infinitebench_qa
graphrag-bench fetch dataset=infinitebench_mc
graphrag-bench table pathcorag/table5 --run "$@"

# Tables 2 and 3: abstract questions, made first; the runs of every row; the commands that compare them
for set in ultradomain_mix ultradomain_cs ultradomain_agriculture ultradomain_legal; do
    graphrag-bench fetch dataset=$set
    graphrag-bench questions dataset=$set kind=abstract n=125 llm_build=openai_compatible llm_build.model=gpt-4o out=questions/$set/abstract
done
graphrag-bench table pathcorag/table2 --run "$@"
graphrag-bench table pathcorag/table3 --run "$@"
# Tables 1 and 4: sizes, tokens and seconds; the seconds take runs with workers=1 cache.mode=off
graphrag-bench table pathcorag/table1 --run "$@"
graphrag-bench table pathcorag/table4 --run "$@"

# Figures 3 and 4: sizes and steps
graphrag-bench run -m dataset=ultradomain_mix dataset.questions=questions/ultradomain_mix/abstract method=pathcorag profile=paper fidelity=paper budget_context=native method.include_paths=true llm=openai_compatible llm.model=gpt-4o-mini embedder=openai_compatible embedder.model=text-embedding-3-small reference_rows=off method.n_nodes=10,20,30,40,50 "$@"
graphrag-bench run -m dataset=ultradomain_mix dataset.questions=questions/ultradomain_mix/abstract method=pathcorag profile=paper fidelity=paper budget_context=native method.include_paths=true llm=openai_compatible llm.model=gpt-4o-mini embedder=openai_compatible embedder.model=text-embedding-3-small reference_rows=off method.k=1,2,4,6,8 "$@"
graphrag-bench run -m dataset=ultradomain_mix dataset.questions=questions/ultradomain_mix/abstract method=pathcorag profile=paper fidelity=paper budget_context=native method.include_paths=true llm=openai_compatible llm.model=gpt-4o-mini embedder=openai_compatible embedder.model=text-embedding-3-small reference_rows=off method.top_k=5,10,15,20,30 "$@"
graphrag-bench run -m dataset=ultradomain_mix dataset.questions=questions/ultradomain_mix/abstract method=pathcorag profile=paper fidelity=paper budget_context=native method.include_paths=true llm=openai_compatible llm.model=gpt-4o-mini embedder=openai_compatible embedder.model=text-embedding-3-small reference_rows=off method.n_steps=2,3,4 "$@"
graphrag-bench run -m dataset=ultradomain_mix dataset.questions=questions/ultradomain_mix/abstract method=pathcorag profile=paper fidelity=paper budget_context=native method.include_paths=true llm=openai_compatible llm.model=gpt-4o-mini embedder=openai_compatible embedder.model=text-embedding-3-small reference_rows=off method.n_queries=1,2,3,4 "$@"
