"""The recipe math_rl with a penalty against a reference, which its own command line has no setting for."""

import asyncio

import chz

from tinker_cookbook.recipes.math_rl.train import get_dataset_builder
from tinker_cookbook.rl.train import Config, KLReferenceConfig, main


@chz.chz
class CLIConfig:
    model_name: str
    renderer_name: str
    log_path: str
    reference_checkpoint: str | None = None
    kl_penalty_coef: float = 0.05
    learning_rate: float = 1e-3
    group_size: int = 8
    groups_per_batch: int = 16
    max_tokens: int = 32
    max_steps: int = 4
    lora_rank: int = 8


async def cli_main(config: CLIConfig):
    dataset_builder = get_dataset_builder(
        env="arithmetic",
        batch_size=config.groups_per_batch,
        model_name=config.model_name,
        renderer_name=config.renderer_name,
        group_size=config.group_size,
    )
    reference = KLReferenceConfig(
        base_model=config.model_name, load_checkpoint_path=config.reference_checkpoint
    )
    await main(
        Config(
            learning_rate=config.learning_rate,
            dataset_builder=dataset_builder,
            model_name=config.model_name,
            recipe_name="recipe_math_rl",
            renderer_name=config.renderer_name,
            max_tokens=config.max_tokens,
            log_path=config.log_path,
            kl_penalty_coef=config.kl_penalty_coef,
            kl_reference_config=reference,
            lora_rank=config.lora_rank,
            max_steps=config.max_steps,
            eval_every=0,
            save_every=0,
        )
    )


if __name__ == "__main__":
    asyncio.run(cli_main(chz.entrypoint(CLIConfig)))
