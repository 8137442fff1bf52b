import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { runGit } from '../../git/run-git.ts'
import { isOurs } from '../../own-files.ts'

/** Left by tools and never part of a release. */
const leftovers =
  /(?:^|\/)(?:__pycache__|\.git|\.hg|\.svn|\.venv|venv|node_modules|\.tox|\.nox|\.mypy_cache|\.pytest_cache|\.ruff_cache|[^/]*\.egg-info|\.DS_Store)(?:\/|$)|\.py[co]$/
/** What a build leaves in the package's own folder. */
const buildFolders = /^(?:dist|build)\//

async function listedByGit(folder: string, signal: AbortSignal): Promise<string[] | undefined> {
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--', '.']
  try {
    const listed = await runGit(folder, args, { signal })
    return listed.split('\0').filter((name) => name !== '')
  } catch {
    signal.throwIfAborted()
    return undefined
  }
}

/**
 * Files of a Python package, sorted, relative to its folder and with `/`. Those that git ignores are
 * left out, where there is git. Deleted files that git still lists are not there either.
 */
export async function sourceFiles(folder: string, signal: AbortSignal): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const present = entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)))
    .map((file) => file.split(path.sep).join('/'))
    .filter((file) => !leftovers.test(file) && !buildFolders.test(file) && !isOurs(file))
  const listed = await listedByGit(folder, signal)
  const known = listed === undefined ? undefined : new Set(listed)
  // Sorted by code units: the same on every machine.
  return present.filter((file) => known?.has(file) ?? true).sort()
}
