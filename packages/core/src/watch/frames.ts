import type { CallSiteObject } from 'node:util'
import { currentCallSites, formatPosition } from '../kernel/call-site.ts'

/** Deep enough to reach user code below a parser's or a renderer's own recursion. */
const deepestLook = 100

/** The watch itself stands on top of the stack, and where runBlamed() is: nobody wants to see that. */
const ownFolder = new URL('.', import.meta.url).href

function format(site: CallSiteObject): string {
  const position = formatPosition(site)
  return site.functionName === '' ? position : `${site.functionName} (${position})`
}

/**
 * A stack for people: user code first, innermost call first, then the public Node functions it was
 * inside of (`execFileSync`); the inside of Node and of the watch is left out.
 */
export function shortenStack(sites: readonly CallSiteObject[], limit: number): string[] {
  const user: string[] = []
  const node: string[] = []
  for (const site of sites) {
    const file = site.scriptName
    // Code without a file is the watchdog's question itself, or was made by eval().
    if (file === '' || file.startsWith('node:internal') || file.startsWith(ownFolder)) continue
    if (file.startsWith('node:')) node.push(format(site))
    else user.push(format(site))
  }
  return [...user, ...node].slice(0, limit)
}

/** The stack of the code that runs now, or that was interrupted for this call. */
export function currentStack(limit: number): string[] {
  return shortenStack(currentCallSites(deepestLook), limit)
}
