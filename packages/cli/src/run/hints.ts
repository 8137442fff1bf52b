import { isError } from '@heddle/core'

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
  if (isError(error, 'HDL_GRAPH_CHANGED')) return 'To allow them: --resume --allow-changes.'
  if (isError(error, 'HDL_JOURNAL_DAMAGED') && error.details.saved !== undefined) {
    return `To resume from the saved part: --journal sqlite:${error.details.saved}`
  }
  return undefined
}
