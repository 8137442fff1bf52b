import { HeddleError } from '@heddle/core'
import { systemKernel, type Kernel } from '@heddle/core/lowlevel'
import type { PackedPackage } from '../model.ts'
import { converge } from './converge.ts'
import { hashAs, isAmong } from './hashes.ts'
import type { Registry, StagedVersion, UploadOptions } from './registry.ts'

export interface StageOptions extends Omit<UploadOptions, 'files' | 'stage'> {
  /** How often it is handed in, at most. Default 4. */
  readonly tries?: number
  readonly kernel?: Kernel
}

export type StageResult =
  | { readonly is: 'staged'; readonly staged: StagedVersion }
  | { readonly is: 'already-published' }

/**
 * Stages a version for approval, unless it is staged or published already.
 *
 * *Cancellation*: it may have been staged; asking again finds it.
 * *Fairness*: nothing is held between two requests.
 * @throws `HDL_REGISTRY_UNSUPPORTED` where there is no staging; `HDL_VERSION_CONFLICT` when other
 * content is published or staged under this version.
 */
export async function stageOnce(
  registry: Registry,
  packed: PackedPackage,
  options: StageOptions,
): Promise<StageResult> {
  const { name, version } = packed
  const { kernel = systemKernel, tries = 4, ...upload } = options
  const { stages, url } = registry
  if (stages === undefined) {
    throw new HeddleError('HDL_REGISTRY_UNSUPPORTED', {
      registry: url,
      feature: 'staged publishing',
      instead: 'Publish directly.',
    })
  }
  const [artifact] = packed.artifacts
  const expected = artifact!.integrity
  const refuse = (found: string): never => {
    const details = { package: name, version, registry: url, expected, found }
    throw new HeddleError('HDL_VERSION_CONFLICT', details)
  }
  const standing = await registry.compare(packed, options)
  if (standing.is === 'ours') return { is: 'already-published' }
  if (standing.is === 'different') refuse(standing.found)

  let staged: StagedVersion | undefined
  await converge(
    {
      what: `staging ${name}@${version}`,
      kernel,
      tries,
      isDone: async (wait) => {
        const all = await stages.list(name, wait)
        staged = all.find((each) => each.name === name && each.version === version)
        const known = staged?.integrity
        if (known !== undefined && !isAmong(hashAs(known, artifact!), known)) {
          refuse(`${known}, which waits for approval`)
        }
        return staged !== undefined
      },
      write: async (wait) => {
        const { stageId } = await registry.upload(packed, { ...upload, ...wait, stage: true })
        staged = { id: stageId!, name, version, tag: options.distTag, integrity: expected }
      },
    },
    options,
  )
  return { is: 'staged', staged: staged! }
}
