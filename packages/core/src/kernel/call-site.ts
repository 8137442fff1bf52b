import { fileURLToPath } from 'node:url'
// Not by name: Node 20 has no such export, and would say so instead of node-version.ts.
import * as util from 'node:util'
import type { CallSiteObject } from 'node:util'

/** A position for people: `/app/main.ts:3:7`. */
export function formatPosition(site: CallSiteObject): string {
  const { scriptName, lineNumber, columnNumber } = site
  const file = scriptName.startsWith('file:') ? fileURLToPath(scriptName) : scriptName
  return `${file}:${lineNumber}:${columnNumber}`
}

/** The calls that led here, innermost first, without this function. */
export function currentCallSites(limit: number): CallSiteObject[] {
  return util.getCallSites(limit + 1).slice(1)
}
