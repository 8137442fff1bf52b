import { isError, type Graph } from '@heddle/core'
import { quoteWord } from '@heddle/core/lowlevel'

/** What to type about an error: its own help is for programs too, and knows no command line. */
export function hintFor(error: unknown): string | undefined {
  if (isError(error, 'HDL_LOCKED')) {
    return 'To wait for the process that runs it, start both with the same key: --key K.'
  }
  const need =
    isError(error, 'HDL_BAD_OPTION') && /^needs\.(.+) of /.exec(error.details.option)?.[1]
  if (need && error.details.expected.includes('`resources`')) {
    const name = /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(need) ? need : JSON.stringify(need)
    return `To have 4 of it, in the module: export const options = { resources: { ${name}: 4 } }.`
  }
  if (isError(error, 'HDL_GRAPH_CHANGED')) return 'To allow them, add --allow-changes.'
  if (isError(error, 'HDL_JOURNAL_DAMAGED') && error.details.saved !== undefined) {
    return `To resume from the saved part: --journal sqlite:${error.details.saved}`
  }
  return undefined
}

/** The advice for an unreadable file: most of the time it never was a journal. */
export function helpForUnreadable(error: unknown): string | undefined {
  if (!isError(error, 'HDL_JOURNAL_DAMAGED')) return undefined
  const { path, runs, saved } = error.details
  if (runs > 0 || saved !== undefined) return undefined
  return `If ${path} is not a journal, name the right file with \`--journal sqlite:FILE\`. If it was one, continue with a backup.`
}

/** The arguments of the command. */
export interface HelpContext {
  readonly file: string
  readonly key: string | undefined
  /** The graph of the module, once it is loaded. */
  readonly graph: Graph | undefined
}

/** Names that an answer lists; `--graph json` has all. */
const namesShown = 10

/** What to do about an error on the command line, where its own help speaks of code. */
export function helpFor(error: unknown, { file, key, graph }: HelpContext): string | undefined {
  if (isError(error, 'HDL_GRAPH_CHANGED') && key !== undefined) {
    const { run } = error.details
    return `The key ${JSON.stringify(key)} belongs to run ${run}: give other work another key, or allow the changes.`
  }
  const unreadable = helpForUnreadable(error)
  if (unreadable !== undefined) return unreadable
  if (!isError(error, 'HDL_UNKNOWN_NODE') || graph === undefined) return undefined
  const { node } = error.details
  const [outer = ''] = node.split('/')
  if (node.includes('/') && graph.get(outer)?.grows?.kind === 'subgraph') {
    const name = quoteWord(outer)
    return `Nodes of the sub-graph "${outer}" are made while it runs: --only takes ${name} as a whole, --from also those of an earlier run.`
  }
  const names: string[] = []
  for (const { name } of graph.nodes()) if (names.push(quoteWord(name)) === namesShown) break
  const more = graph.size - names.length
  const rest = more > 0 ? ` and ${more} more` : ''
  return `The graph has ${names.join(', ')}${rest}. heddle run ${quoteWord(file)} --graph json lists all nodes.`
}
