import { createInterface } from 'node:readline/promises'
import type { OtpPrompt } from '@heddle/release'
import type { Reporter } from '../output/reporter.ts'

export interface PromptStreams {
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean }
  readonly output: NodeJS.WritableStream & { readonly isTTY?: boolean }
}

/** Asks the person at the terminal for one-time passwords; undefined where there is none. */
export function terminalPrompt(
  { input, output }: PromptStreams,
  reporter: () => Reporter | undefined,
): OtpPrompt | undefined {
  if (input.isTTY !== true || output.isTTY !== true) return undefined
  return {
    ask: async (registry) => {
      reporter()?.suspend()
      const lines = createInterface({ input, output })
      try {
        const typed = await lines.question(`One-time password for ${registry}: `)
        return typed.trim() === '' ? undefined : typed.trim()
      } finally {
        lines.close()
        reporter()?.resume()
      }
    },
    show: (registry, address) => {
      reporter()?.notice(`${registry} requires you to log in: open ${address}`)
    },
  }
}
