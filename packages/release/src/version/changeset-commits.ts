import { isError } from '@heddle/core'
import { runGit } from '../git/run-git.ts'

/** A line that is not a commit is a file that the commit above it added. */
const fileOfChangeset = /^\.changeset\/([^/]+)\.md$/

/**
 * The commit that added each changeset of a workspace, by its id. Empty without a repository, and in a shallow
 * clone: its oldest commit seems to have added everything.
 *
 * *Cancellation*: none; Git reads one folder of the history.
 */
export async function changesetCommits(root: string): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  try {
    const isShallow = await runGit(root, ['rev-parse', '--is-shallow-repository'], {})
    if (isShallow.trim() === 'true') return found
    const args = [
      'log',
      '--diff-filter=A',
      '--no-renames',
      '--relative',
      '--name-only',
      '--format=%H',
    ]
    let commit = ''
    for (const line of (await runGit(root, [...args, '--', '.changeset'], {})).split('\n')) {
      if (/^[0-9a-f]{40,64}$/.test(line)) commit = line
      const id = fileOfChangeset.exec(line)?.[1]
      // From the newest commit on: a name that was used before belongs to the last file of it.
      if (id !== undefined && !found.has(id)) found.set(id, commit)
    }
    return found
  } catch (error) {
    if (isError(error, 'HDL_COMMAND_FAILED')) return found
    throw error
  }
}
