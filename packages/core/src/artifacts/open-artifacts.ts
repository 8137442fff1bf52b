import path from 'node:path'
import { HeddleError } from '../errors.ts'
import { checkOptions, type OptionNames } from '../kernel/check.ts'
import { systemKernel, type Kernel } from '../kernel/kernel.ts'
import { isPostgresAddress, withoutPasswords } from '../store/postgres/address.ts'
import type { ArtifactQuota, ArtifactStore } from './artifact-store.ts'
import { checkQuota } from './check-artifact.ts'

export interface OpenArtifactsOptions {
  /** Quotas for the artifacts of one run, unless put() is given others. */
  readonly quota?: Partial<ArtifactQuota>
  readonly kernel?: Kernel
}

const optionNames = { quota: 1, kernel: 1 } satisfies OptionNames<OpenArtifactsOptions>

/** Where a journal in a file keeps the artifacts of its runs. */
export function artifactsBeside(file: string): string {
  return `${file}.artifacts`
}

/**
 * Opens a store of artifacts: `memory`, `folder:PATH`, `sqlite:FILE` for the folder beside that journal, or
 * `postgres://HOST/DATABASE` for the tables of that one.
 *
 * *Cancellation*: none; it ends when the database does not answer in time.
 * @throws `HDL_BAD_OPTION`; `HDL_STORE_FAILED`, `HDL_JOURNAL_NEWER`, `HDL_NO_DRIVER` for a database.
 * @example
 * await using artifacts = await openArtifacts('memory')
 * await artifacts.put('run-1', 'report.txt', 'all is well')
 * for (const { name, length } of await artifacts.list('run-1')) console.log(name, length)
 */
export async function openArtifacts(
  address: string,
  options: OpenArtifactsOptions = {},
): Promise<ArtifactStore> {
  checkOptions(options, optionNames)
  const { kernel = systemKernel } = options
  const quota = checkQuota(options.quota ?? {})
  if (address === 'memory') {
    const { MemoryArtifacts } = await import('./memory/memory-artifacts.ts')
    return new MemoryArtifacts(kernel, quota)
  }
  if (isPostgresAddress(address)) {
    const { openPostgresArtifacts } = await import('./postgres/postgres-artifacts.ts')
    return openPostgresArtifacts(address, { kernel, quota })
  }
  const [, kind, place] = /^(folder|sqlite):(.+)$/.exec(address) ?? []
  if (place !== undefined) {
    const { FolderArtifacts } = await import('./folder/folder-artifacts.ts')
    const folder = kind === 'sqlite' ? artifactsBeside(path.resolve(place)) : place
    return new FolderArtifacts(folder, { kernel, quota })
  }
  throw new HeddleError('HDL_BAD_OPTION', {
    option: 'artifacts',
    value: withoutPasswords(address),
    expected: 'memory, folder:PATH, sqlite:FILE or postgres://HOST/DATABASE',
  })
}
