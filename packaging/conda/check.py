"""Renders the recipe for every platform it is for; then builds a package from it with a program that is already compiled, and
runs the recipe's own tests on the package. The compilers of the recipe come from a channel, which is not asked for.

Usage: check.py PROGRAM VERSION DIRECTORY
"""

import sys
import zipfile
from pathlib import Path

from rattler_build import EnvironmentIsolation, PlatformConfig, RenderConfig, Stage0Recipe, ToolConfiguration, VariantConfig
from rattler_build.progress import SimpleProgressCallback

program, version, scratch = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
recipe_file = Path(__file__).with_name("recipe.yaml")
pinned = {"c_stdlib": ["sysroot"], "c_stdlib_version": ["2.17"], "c_compiler": ["gcc"], "rust_compiler": ["rust"]}


def rendered() -> None:
    recipe = Stage0Recipe.from_file(recipe_file)
    for platform in ("linux-64", "linux-aarch64", "osx-64", "osx-arm64"):
        (variant,) = recipe.render(VariantConfig(pinned), RenderConfig(PlatformConfig(target_platform=platform)))
        package = variant.recipe.package
        assert (package.name, package.version) == ("crfe-tui", version), f"the recipe has {package.name} {package.version}"
        print(f"rendered for {platform}")


def built() -> None:
    text = recipe_file.read_text(encoding="utf-8")
    compile_line = 'cargo install --locked --no-track --path . --root "$PREFIX"'
    assert text.count(compile_line) == 1
    text = text.replace(compile_line, f'install -D -m 755 "{program}" "$PREFIX/bin/crfe-tui"')
    start, end = text.index("requirements:"), text.index("tests:")
    text = text[:start] + text[end:]
    text = text.replace("path: ../..", f"path: {recipe_file.parents[2]}")
    trial = scratch / "recipe" / "recipe.yaml"
    trial.parent.mkdir()
    trial.write_text(text, encoding="utf-8")
    (result,) = Stage0Recipe.from_file(trial).run_build(
        tool_config=ToolConfiguration(test_strategy="native"),
        output_dir=scratch / "output",
        channels=[],
        progress_callback=SimpleProgressCallback(),
        env_isolation=EnvironmentIsolation.STRICT,
    )
    (package,) = result.packages
    assert zipfile.is_zipfile(package)
    print(f"built and tested {Path(package).name}")


rendered()
built()
