# Figures 4, 5 and 11 of Chakrabarti, Punera & Subramanyam 2002, from the kept runs of a lab:
#
#   jq -rs -f papers-runs.jq RUNS/*.best-first-page.* RUNS/*.cps02-apprentice.*
#
# Of each topic: pages of the baseline whose relevance, by the critic, is ½ or more (good) and less
# (bad), the share of them below .1 and from .9 on, their mean (harvest); and of the apprentice's
# pages how many the baseline has as well, of all and of the good ones.
def share: . / 10000;
def pages: [.pages.id, .pages.relevance] | transpose | map({id: .[0], r: (.[1] | share)});
(["web", "topic", "good", "bad", "below .1", "from .9", "harvest", "apprentice", "shared", "apprentice good", "shared good"] | join(",")),
(group_by([.web, .topic])[]
	| (map(select(.scorer == "best-first-page"))[0]) as $base
	| (map(select(.scorer == "cps02-apprentice"))[0]) as $other
	| ($base | pages) as $b
	| ($other | pages) as $o
	| ($b | map({key: (.id | tostring), value: true}) | from_entries) as $has
	| ($o | map(select($has[.id | tostring]))) as $both
	| [
		$base.web, $base.topic,
		($b | map(select(.r >= 0.5)) | length), ($b | map(select(.r < 0.5)) | length),
		(($b | map(select(.r < 0.1)) | length) / ($b | length)), (($b | map(select(.r >= 0.9)) | length) / ($b | length)),
		(($b | map(.r) | add) / ($b | length)),
		($o | length), ($both | length),
		($o | map(select(.r >= 0.5)) | length), ($both | map(select(.r >= 0.5)) | length)
	]
	| map(if type == "number" then (. * 1000 | round) / 1000 else . end | tostring) | join(","))
