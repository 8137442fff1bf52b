import type { CallSiteObject } from 'node:util'
import { currentCallSites, formatPosition } from '../kernel/call-site.ts'
import { addressInPackage } from '../kernel/own-file.ts'

/** Deep enough to reach user code below a parser's or a renderer's own recursion. */
const deepestLook = 100

/** The watch itself stands on top of the stack, and where runBlamed() is: both are left out. */
const ownFolder = addressInPackage('watch/')

/** Stands above the user's code while a native function that was replaced returns. */
const nativeCalls = addressInPackage('watch/native-calls.')

function format(site: CallSiteObject): string {
  const position = formatPosition(site)
  return site.functionName === '' ? position : `${site.functionName} (${position})`
}

/** A stack, and whether its innermost call is inside Node. */
export interface ShortStack {
  /**
   * User code first, innermost call first, then the public Node functions it was inside of
   * (`execFileSync`); the inside of Node and of the watch is left out.
   */
  readonly frames: readonly string[]
  readonly inNode: boolean
  /** Whether that is a native function whose return is watched: its caller is on the stack for certain. */
  readonly isReturning: boolean
}

/** A stack for people. */
export function shortenStack(sites: readonly CallSiteObject[], limit: number): ShortStack {
  const user: string[] = []
  const node: string[] = []
  let inNode = false
  let isReturning = false
  for (const site of sites) {
    const file = site.scriptName
    // Code without a file is the watchdog's question itself, or was made by eval().
    if (user.length === 0 && file.startsWith(nativeCalls)) isReturning = true
    if (file === '' || file.startsWith(ownFolder)) continue
    // Only frames above the user's code: the frames below show how Node called it.
    if (user.length === 0 && file.startsWith('node:')) inNode = true
    if (file.startsWith('node:internal')) continue
    if (file.startsWith('node:')) node.push(format(site))
    else user.push(format(site))
  }
  const frames = [...user, ...node].slice(0, limit)
  return { frames, inNode: (inNode || isReturning) && user.length > 0, isReturning }
}

/** The stack of the code that runs now, or that was interrupted for this call. */
export function currentStack(limit: number): ShortStack {
  return shortenStack(currentCallSites(deepestLook), limit)
}
