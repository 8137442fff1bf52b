import path from 'node:path'
import * as parser from '@typescript-eslint/parser'
import plugin from '@typescript-eslint/eslint-plugin'
import { ESLint } from 'eslint'
import type { Sources } from '../sources.ts'

/** Its rule for races, without types. */
export function untyped(sources: Sources): Promise<number> {
  const rules = { 'require-atomic-updates': 'error' }
  return lint(
    sources,
    { files: ['**/*.{js,cjs,mjs}'], rules },
    { files: ['**/*.ts'], languageOptions: { parser }, rules },
  )
}

/** The same, with the two typed rules of typescript-eslint that are about promises. */
export function typed(sources: Sources): Promise<number> {
  return lint(sources, {
    files: ['**/*.ts'],
    languageOptions: {
      parser,
      parserOptions: { project: path.join(sources.root, 'tsconfig.json') },
    },
    plugins: { '@typescript-eslint': plugin },
    rules: {
      'require-atomic-updates': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
    },
  })
}

async function lint({ root, files }: Sources, ...config: object[]): Promise<number> {
  const eslint = new ESLint({
    cwd: root,
    overrideConfigFile: true,
    overrideConfig: config,
    ignore: false,
    allowInlineConfig: false,
  })
  const results = await eslint.lintFiles([...files])
  return results.reduce((sum, { errorCount }) => sum + errorCount, 0)
}
