/**
 * What runs where in a program: on the loop, in the pool of libuv, in threads, in processes, on other
 * machines. The JSON format is this type, so fields are added, never renamed.
 *
 * Everything is sorted by path and line: the same code gives the same document.
 */
import type { RootKind } from '../blocking/roots.ts'
import type { Level } from '../finding.ts'
import type { Tag } from '../models/model.ts'

export interface Inventory {
  readonly version: 1
  readonly matrix: readonly MatrixRow[]
  readonly sections: readonly FileSection[]
  readonly hotSpots: readonly HotSpot[]
  readonly summary: InventorySummary
  readonly invariants: readonly Invariant[]
}

/** One line of the one-screen view. */
export interface MatrixRow {
  /** A file, or a folder when there are many files. */
  readonly component: string
  /** The roots that start work there, counted by kind: `3 request handlers`. */
  readonly loop: readonly string[]
  /** Calls that move work away, with where it goes. */
  readonly elsewhere: readonly TaggedName[]
  /** Calls that hold the loop. */
  readonly remaining: readonly TaggedName[]
}

export interface TaggedName {
  readonly tag: Tag
  readonly name: string
  readonly count: number
}

export interface FileSection {
  readonly file: string
  /** Loaded by a thread: nothing in it is on the loop. */
  readonly runsIn: 'loop' | 'thread'
  readonly entryPoints: readonly EntryPoint[]
  /** Entry points below which nothing heavy was found: only their names. */
  readonly light: readonly string[]
  readonly risk: readonly Risk[]
}

/** A finding in the form of a section. */
export interface Risk {
  readonly level: Level
  readonly rule: string
  readonly line: number
  readonly message: string
}

export interface EntryPoint {
  readonly tag: Tag
  readonly kind: RootKind
  /** `POST /jobs`, `on message`, `every setInterval`, `Client.connect()`. */
  readonly name: string
  readonly line: number
  readonly work: readonly WorkItem[]
}

export interface WorkItem {
  readonly tag: Tag
  /** `fs.readFile()`. */
  readonly name: string
  readonly file: string
  readonly line: number
  /** Where its input comes from, as far as that matters. */
  readonly note?: string
  /** It costs by the size of its input, and nothing says that this is large. */
  readonly isVague?: true
  /** The work of a function of the program that is called here. */
  readonly inside?: readonly WorkItem[]
}

/** Something that holds the loop, with how it is reached. */
export interface HotSpot {
  readonly reach: 'serving' | 'callers-wait' | 'start-up'
  readonly rule: string
  readonly level: Level
  readonly name: string
  readonly file: string
  readonly line: number
  /** Names of functions from the root to the one it is in. */
  readonly way: readonly string[]
  readonly instead?: string
}

export interface InventorySummary {
  readonly files: number
  readonly entryPoints: number
  readonly callsByTag: Readonly<Partial<Record<Tag, number>>>
  /** Functions that use the pool of libuv, which has four threads by default. */
  readonly poolUsers: number
  readonly threadFiles: readonly string[]
}

/** Something that must be so while the program runs, and where the code says so. */
export interface Invariant {
  readonly text: string
  readonly at: readonly {
    readonly name?: string
    readonly file: string
    readonly line: number
  }[]
}
