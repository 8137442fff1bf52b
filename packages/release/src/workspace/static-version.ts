import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { isFields } from '../manifest/local-range.ts'
import type { WorkspacePackage } from '../model.ts'
import { parsePythonVersion } from './python-version.ts'

/** What hatch looks for, where its settings name no pattern of their own. */
const assignment = /^(?:__version__|VERSION)(?: ?: ?str)? ?= ?(["'])v?(.+?)\1/im

/**
 * The version that hatch would read from a file of the package, without a build: `[tool.hatch.version] path = …`.
 * Undefined for every other way to compute one.
 *
 * *Cancellation*: none; it reads one small file.
 */
export async function staticVersion({
  folder,
  manifest,
}: Pick<WorkspacePackage, 'folder' | 'manifest'>): Promise<string | undefined> {
  const at = (...keys: readonly string[]): unknown =>
    keys.reduce<unknown>((value, key) => (isFields(value) ? value[key] : undefined), manifest)
  const settings = at('tool', 'hatch', 'version')
  const file = isFields(settings) ? settings['path'] : undefined
  const isPlain = isFields(settings) && Object.keys(settings).join() === 'path'
  if (at('build-system', 'build-backend') !== 'hatchling.build') return undefined
  if (!isPlain || typeof file !== 'string') return undefined
  // A file that is missing is a fault that its build describes.
  const text = await readFile(path.join(folder, file), 'utf8').catch(() => '')
  const version = assignment.exec(text)?.[2]
  return version !== undefined && parsePythonVersion(version) !== undefined ? version : undefined
}
