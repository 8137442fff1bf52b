/** What the service offers: every exported job is a route, `POST /jobs/<name>`. */
import { setTimeout as sleep } from 'node:timers/promises'
import { job } from '@heddle/core'

/** Computes, so it runs in a thread: the words of a text, the most frequent first. */
export const words = job(
  { name: 'words', place: 'thread', module: import.meta.url },
  (text: string): [word: string, count: number][] => {
    const counts = new Map<string, number>()
    for (const [word] of text.toLowerCase().matchAll(/\p{L}+/gu)) {
      counts.set(word, (counts.get(word) ?? 0) + 1)
    }
    return [...counts].sort(([a, ofA], [b, ofB]) => ofB - ofA || a.localeCompare(b))
  },
)

/** Takes a while, as a report does that waits for other systems. */
export const report = job({ name: 'report' }, async (month: string, { signal }) => {
  await sleep(2_000, undefined, { signal })
  return `the report of ${month}`
})
