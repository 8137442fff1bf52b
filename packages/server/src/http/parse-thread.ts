/** Long bodies are parsed in a thread, and come back in pieces that the loop can take one by one. */
import { job } from '@heddle/core'
import { cutJson } from './json-pieces.ts'

/** Undefined when the text is not JSON. */
export const cutJob = job(
  { name: 'cut JSON', place: 'thread', module: import.meta.url },
  (text: string): string[] | undefined => {
    try {
      JSON.parse(text)
    } catch {
      return undefined
    }
    return cutJson(text)
  },
)
