import { editJson } from '../manifest/json-edit.ts'
import { parseJsonManifest } from '../manifest/manifest-text.ts'
import { pythonChanges } from '../manifest/python-manifest.ts'
import { editToml, parseToml } from '../manifest/toml-edit.ts'
import type { PlannedPackage, ReleasePlan } from '../model.ts'
import { npmPins } from './npm-pins.ts'

/**
 * A manifest with its dependencies pinned, and every other byte as it was. The same text when there
 * is nothing to pin, also when it is pinned already.
 *
 * @throws `HDL_BAD_MANIFEST`, `HDL_LOCAL_RANGE`
 */
export function pinnedText(planned: PlannedPackage, plan: ReleasePlan, text: string): string {
  const { ecosystem, manifestFile } = planned.package
  if (ecosystem === 'npm') {
    const manifest = parseJsonManifest(manifestFile, text)
    return editJson(manifestFile, text, npmPins(planned, plan, manifest))
  }
  const document = parseToml(manifestFile, text)
  return editToml(manifestFile, text, pythonChanges(planned, plan, document))
}
