/** The surroundings of the analyze suite: the analysed code, and installed peers. */
import { installPeers } from '../../servers/install-peers.ts'
import type { SurroundOptions, Surroundings } from '../../harness/row.ts'
import { provideCorpus } from './corpus.ts'
import { corpusVariable, needs } from './needs.ts'

export async function surround(
  wanted: ReadonlySet<string>,
  options: SurroundOptions,
): Promise<Surroundings> {
  const missing = new Map<string, string>()
  const environment: Record<string, string> = {}
  const corpus = await provideCorpus(options)
  if ('folder' in corpus) environment[corpusVariable] = corpus.folder
  else missing.set(needs.corpus, corpus.reason)
  if (wanted.has(needs.peers)) {
    const reason = await installPeers('analyze', options)
    if (reason !== undefined) missing.set(needs.peers, reason)
  }
  return {
    environment,
    missing,
    notes: [],
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
}
