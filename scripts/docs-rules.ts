/** Writes docs/reference/rules.md from the pages of the rules; with `--check` only compares. */
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { rulesDocument } from '../packages/analyze/src/explain/rules-markdown.ts'
import { rulePages } from '../packages/analyze/src/explain/pages.ts'

const pageFile = path.join(path.dirname(import.meta.dirname), 'docs/reference/rules.md')
const page = rulesDocument(rulePages)

if (process.argv.includes('--check')) {
  if (readFileSync(pageFile, 'utf8') !== page) {
    console.error('docs/reference/rules.md does not match the rules: run `npm run format`.')
    process.exitCode = 1
  }
} else {
  writeFileSync(pageFile, page)
}
