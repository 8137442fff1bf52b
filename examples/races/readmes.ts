/** Writes README.md of each race and the list of all from what the analyzer says; with `--check` only compares. */
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { findingSection, SourceLines } from '@heddle/analyze'
import { analyseFile } from './analyse.ts'
import { gallery, type Exhibit } from './gallery.ts'

async function pageOf({ name, rule, title, story, repair, show }: Exhibit): Promise<string> {
  const file = `${name}/race.ts`
  const source = await readFile(path.join(import.meta.dirname, file), 'utf8')
  const finding = (await analyseFile(file)).find((each) => each.rule === rule)
  if (finding === undefined) throw new Error(`${rule} is not found in ${file}`)
  const race = await show('race')
  const fixed = await show('fixed')
  return `# ${title}

${story}

[race.ts](race.ts) has it, [fixed.ts](fixed.ts) does not. [demo.ts](demo.ts) drives both by hand, in the order that goes wrong:

\`\`\`text
race.ts:  ${race.what}
fixed.ts: ${fixed.what}
\`\`\`

**The repair.** ${repair}

What \`heddle analyze ${file} --format markdown\` says:

${findingSection(finding, new SourceLines(() => source))}
`
}

function listOf(): string {
  const rows = gallery.map(
    ({ name, rule, title }) =>
      `| [${name}](${name}/README.md) | [${rule}](../../docs/reference/rules.md) | ${title} |`,
  )
  return `# Twelve races

Small versions of races that real packages have shipped. Each folder has the race, the repair, a demonstration that
drives both by hand (no sleeping, no luck), and what \`heddle analyze\` says.

\`\`\`sh
node scripts/setup.mjs examples/races/main.ts              # watch all of them happen
npx heddle analyze examples/races/*/race.ts --level note   # find them
npx heddle analyze examples/races/*/fixed.ts               # and see that they are gone
\`\`\`

| race | rule | |
|---|---|---|
${rows.join('\n')}

The pages are written by \`npm run format\` from \`gallery.ts\` and the analyzer; a test compares them.
`
}

const pages = new Map([['README.md', listOf()]])
for (const exhibit of gallery) pages.set(`${exhibit.name}/README.md`, await pageOf(exhibit))

for (const [name, text] of pages) {
  const file = path.join(import.meta.dirname, name)
  if (!process.argv.includes('--check')) await writeFile(file, text)
  else if ((await readFile(file, 'utf8')) !== text) {
    console.error(`examples/races/${name} is not what the analyzer says: run \`npm run format\`.`)
    process.exitCode = 1
  }
}
