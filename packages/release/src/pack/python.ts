/**
 * Packing for PyPI: a wheel and an sdist with pinned dependencies, the work tree untouched.
 *
 *   pyproject.toml ──pinned in memory──▶ uv build │ python -m build │ our own builder ──▶ read back
 *
 * The project's backend builds wherever `uv` or `build` is installed, in a copy of the package's
 * folder that has the pinned manifest. Without them only what all backends agree on is packed: see
 * python/layout.ts.
 *
 * Invariants, quoted by the tests:
 *  Y1  Name and version in both archives are the planned ones.
 *  Y2  Every dependency on a package of the workspace is exactly the planned version in both
 *      archives, with its extras and markers; nothing in them leads to this machine.
 *  Y3  No file of the work tree is written, created or removed.
 *  Y4  A failed or cancelled call leaves nothing in the folder.
 *
 * Known limits: a backend that reads files outside of the package's folder does not find them in the
 * copy; `--pin in-place` and its own command help there. Bytes of a backend's archives are equal only
 * if the backend keeps to SOURCE_DATE_EPOCH.
 */
import { rm } from 'node:fs/promises'
import path from 'node:path'
import { HeddleError } from '@heddle/core'
import { Patience, systemKernel } from '@heddle/core/lowlevel'
import { localRangeError, throwFirst, type Fields } from '../manifest/local-range.ts'
import { readManifest } from '../manifest/manifest-text.ts'
import { pythonChanges } from '../manifest/python-manifest.ts'
import {
  isLocalRequirement,
  normalName,
  parseRequirement,
  pythonVersion,
} from '../manifest/requirement.ts'
import { editToml, parseToml } from '../manifest/toml-edit.ts'
import { valueAt } from '../manifest/text-edit.ts'
import type { Artifact, PackedPackage, PlannedPackage, ReleasePlan } from '../model.ts'
import type { PackOptions } from './npm.ts'
import { buildByBackend, findBuilder, type PythonBuilder } from './python/backend.ts'
import { parseMetadata } from './python/metadata.ts'
import { buildItself, type PythonSource } from './python/own-builder.ts'
import type { WrittenArchive } from './archive-job.ts'

export interface PackPythonOptions extends PackOptions {
  /** The builder. When absent: `uv` if it is installed, else `build`, else our own builder. */
  readonly builder?: PythonBuilder | 'own'
  /**
   * Whether the backend is installed for this build alone, as its project asks (default), or is the
   * one that is installed already, without a network.
   */
  readonly isolated?: boolean
  /** The environment of the build; the one of this process when absent. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** Y1 and Y2, from the archive itself. */
function proveArchive(planned: PlannedPackage, plan: ReleasePlan, written: WrittenArchive): void {
  const { name } = planned.package
  const { file } = written.artifact
  const found = parseMetadata([...written.content.texts.values()][0] ?? '')
  const version = pythonVersion(planned.version)
  const isOurs =
    normalName(found.name) === normalName(name) && pythonVersion(found.version) === version
  if (!isOurs) {
    const problem = `${path.basename(file)} says that it is ${found.name || 'nameless'} ${found.version}, not ${version}`
    throw new HeddleError('HDL_PACK_FAILED', { package: name, problem })
  }
  const errors: HeddleError<'HDL_LOCAL_RANGE'>[] = []
  const internal = new Map(
    Array.from(plan.packages.values(), (other) => [normalName(other.package.name), other]),
  )
  for (const text of found.requires) {
    const requirement = parseRequirement(text)
    const target = internal.get(normalName(requirement?.name ?? ''))
    const pinned = target === undefined ? undefined : `==${pythonVersion(target.version)}`
    const isSelf = target?.package.name === name
    const isLoose =
      pinned !== undefined &&
      target?.package.ecosystem === 'python' &&
      !isSelf &&
      requirement?.range.replace(/[\s()]/g, '') !== pinned
    if (requirement !== undefined && (isLoose || isLocalRequirement(requirement))) {
      const listed = { group: 'Requires-Dist', dependency: requirement.name, range: text }
      errors.push(localRangeError(name, listed, `it was left in ${path.basename(file)}`))
    }
  }
  throwFirst(errors)
}

/**
 * Builds a wheel and an sdist with the manifest that is released.
 *
 * *Cancellation*: ends the build's whole process group; nothing is left in the folder.
 *
 * @throws `HDL_LOCAL_RANGE` before anything is built; `HDL_COMMAND_FAILED` when the build fails;
 * `HDL_PACK_FAILED`; `HDL_BAD_MANIFEST`.
 */
export async function packPython(
  planned: PlannedPackage,
  plan: ReleasePlan,
  options: PackPythonOptions,
): Promise<PackedPackage> {
  const { kernel = systemKernel, env = process.env, isolated = true } = options
  const { name, folder, manifestFile } = planned.package
  using patience = new Patience(`Packing ${name}`, kernel.clock, options)
  patience.check()
  const before = await readManifest(manifestFile)
  const changes = pythonChanges(planned, plan, parseToml(manifestFile, before))
  const text = editToml(manifestFile, before, changes)
  const document: Fields = parseToml(manifestFile, text)
  const source: PythonSource = { name, folder, text, document }
  const out = path.resolve(options.folder)
  const builder = options.builder ?? (await findBuilder(env, patience)) ?? 'own'
  const version = pythonVersion(planned.version)
  const artifacts: Artifact[] = []
  try {
    const built =
      builder === 'own'
        ? buildItself(source, out, patience.bounded)
        : buildByBackend(builder, source, { folder: out, version, env, isolated }, patience, kernel)
    for await (const written of built) {
      artifacts.push(written.artifact)
      proveArchive(planned, plan, written)
    }
    patience.check()
  } catch (error) {
    for (const { file } of artifacts) await rm(file, { force: true })
    throw patience.errorOf(error)
  }
  const project = valueAt(document, ['project'])
  return { name, version, ecosystem: 'python', artifacts, manifest: (project ?? {}) as Fields }
}
