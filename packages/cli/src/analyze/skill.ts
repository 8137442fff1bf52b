/**
 * The skill for coding agents that `heddle init --skill` writes: when to analyse, what, and how to read the
 * answer. A test runs every command in it.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'

/** Where agents look for it, from the root of a project. */
export const skillFile = '.claude/skills/heddle-analyze/SKILL.md'

/**
 * Writes the skill, unless it is there.
 *
 * *Cancellation*: none; it writes one small file.
 *
 * @returns Whether it was written.
 */
export async function writeSkill(folder: string): Promise<boolean> {
  const file = path.join(folder, skillFile)
  await mkdir(path.dirname(file), { recursive: true })
  try {
    await writeFile(file, skillText, { flag: 'wx' })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

export const skillText = `---
name: heddle-analyze
description: Find async races and event loop blocking in TypeScript and JavaScript. Use it when the user asks about a race, a deadlock, a leak at shutdown or a stale result, and on your own after you have written or reviewed async code that touches state which more than one task can reach.
---

# Concurrency analysis with heddle

\`heddle analyze\` reads code and reports windows: a check, a suspension, and an act that relies on the check. It
does not run the code. It names the interleaving that goes wrong and ways to repair it.

## When

On demand: the user points at code (a file, lines, a function, a pasted snippet), or describes something that
happens "sometimes".

On your own, before you call a change done, when the change
- awaits between reading and writing a field, a module variable, a map entry, a file or a row;
- adds a listener, a timer, a cache, a lock, a pool, a retry, a connection or a close();
- turns synchronous code into asynchronous code: every new \`await\` is a place where others run.

## Which target

Take the smallest that contains the code in question. Files that it imports are read with it.

\`\`\`sh
heddle analyze src/client.ts#Client.connect --format markdown
heddle analyze src/client.ts:1-20 --format markdown
heddle analyze src --format compact
heddle analyze --changed-since HEAD --format compact
heddle analyze - --format markdown < src/client.ts
\`\`\`

What runs where, and what holds the event loop:

\`\`\`sh
heddle analyze --inventory
\`\`\`

Exit codes: 0 nothing found, 1 found, 2 the command was not understood, 3 incomplete (say so in your report).

## How to read a finding

A finding has the shared state with its writers and readers, the checkpoints, a numbered trace with the task of
each step, the window, the class and the repairs. Then:

1. Read the code at both places. The analysis does not know what callers promise to each other.
2. Ask whether two of these tasks can really run at once: two requests, a request and close(), a timer and a call.
   The evidence in the finding says why the analysis thinks so.
3. Ask which effect a user would notice: a lost update, a leak, an error after close, work done twice. If the answer is
   "nothing", accept it in the code with the reason: \`// heddle-ignore H101 -- why it cannot go wrong here\`.
4. Prefer the repair that closes the most steps of the window and adds the fewest new waits. Name its risk: a mutex
   can deadlock when it is taken twice, a shared promise shares its error, a second check must undo the work.
5. Write a test that forces the order of the trace, and see it fail before the repair.

A rule in its own words, with an example that races and one that does not:

\`\`\`sh
heddle analyze --explain H101
\`\`\`

## How to present it

Use the headings of \`--format markdown\`: shared state, checkpoints, race trace, classification, fixes. Begin with one
sentence: what happens, to whom, in which order. Say which findings you judged harmless, and why. Notes are
duplicate work or start-up only: mention how many there are (\`--level note\` shows them), do not list them.

\`\`\`sh
heddle analyze src --level note --format compact
\`\`\`

## Patterns to watch in JavaScript

- \`await\` always suspends, also on a value that is there. An async function runs up to its first \`await\` at once.
- \`x ??= await f()\` and \`x += await f()\` read \`x\` before they wait.
- \`emit()\` and callbacks run other code now, before the next line.
- After every \`await\` in a method, close() may have run. Look again, or pass an AbortSignal.
- Nothing cancels a promise. The loser of \`Promise.race\` continues, and the handle it opens has to be closed.
- \`finally\` with an \`await\` in it can wait for ever: give clean-up a deadline.
- A lock that is removed from its map while others wait for it protects nothing.
- Write the entry that an answer needs before you send the question.
- The first caller that prepares something must not be the only one that waits for it.
- \`setInterval\` does not wait for its async callback.
- A listener that was added after an \`await\` can miss the event it waits for.
`
