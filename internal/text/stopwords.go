package text

import "strings"

// stopWords returns the stop words of a language. Those of English are the
// function words of English, what an apostrophe leaves of its contractions,
// and the few words by which pages speak of themselves. Words that can be a
// subject ("home", "page", "will" as a document) stay unless they are far more
// often a function word.
func stopWords(language string) map[string]struct{} {
	set := make(map[string]struct{}, 256)
	list := stopList
	if language != English {
		list = stopLists()[language]
	}
	for word := range strings.FieldsSeq(list) {
		set[word] = struct{}{}
	}
	return set
}

const stopList = `
a an the
and or but nor so yet if then else than as because while although though unless until whether
of in on at by for from to into onto with within without about above after again against along
among around before behind below beneath beside besides between beyond down during except inside
near off out outside over past per since through throughout toward towards under up upon via
i me my mine myself we us our ours ourselves you your yours yourself yourselves
he him his himself she her hers herself it its itself they them their theirs themselves
one ones who whom whose which what that this these those there here where when why how
am is are was were be been being do does did doing done have has had having
can could may might must shall should will would ought cannot
not no none neither either both each every all any some such same other others another own
few many much more most less least several enough only just also too very quite rather even
ever never always often sometimes still already now once
however therefore thus hence moreover otherwise instead perhaps else indeed
anyone anybody anything someone somebody something everyone everybody everything nobody nothing
get gets got getting let lets make makes made
don doesn didn isn aren wasn weren won wouldn couldn shouldn hasn haven hadn ain mustn needn
ll ve re
etc eg ie vs
click http https www html htm
`
