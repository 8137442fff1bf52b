/** The surroundings of the release suite: installed peers, a real registry, a folder for repositories. */
import { openKeeper } from '@heddle/test-servers'
import { CleanupStack } from '@heddle/core/lowlevel'
import { startVerdaccio } from '@heddle/release/testing'
import type { SurroundOptions, Surroundings } from '../../harness/row.ts'
import { installPeers } from '../../servers/install-peers.ts'
import { folderVariable } from '../../servers/work-folder.ts'
import { needs, registryVariable } from './needs.ts'

export async function surround(
  wanted: ReadonlySet<string>,
  options: SurroundOptions,
): Promise<Surroundings> {
  const missing = new Map<string, string>()
  if (wanted.has(needs.peers)) {
    const reason = await installPeers('release', options)
    if (reason !== undefined) missing.set(needs.peers, reason)
  }
  await using started = new CleanupStack()
  const keeper = started.use(await openKeeper())
  const environment: Record<string, string> = { [folderVariable]: keeper.folder }
  if (wanted.has(needs.registry)) {
    options.onProgress('starting verdaccio')
    try {
      environment[registryVariable] = started.use(await startVerdaccio()).url
    } catch (error) {
      missing.set(needs.registry, error instanceof Error ? error.message : String(error))
    }
  }
  const kept = started.move()
  return {
    environment,
    missing,
    notes: [],
    [Symbol.asyncDispose]: () => kept[Symbol.asyncDispose](),
  }
}
