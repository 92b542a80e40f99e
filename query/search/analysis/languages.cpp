#include "query/search/analysis/languages.h"

#include <algorithm>
#include <array>

#include "query/search/analysis/stop_words.h"

namespace octavo::query::search {

namespace {

using Script = Language::Script;

constexpr std::array language_table{
    Language{.name = "arabic", .stemmer = "arabic", .stop_words = stop_word_lists::arabic, .script = Script::arabic},
    Language{.name = "armenian", .stemmer = "armenian", .stop_words = stop_word_lists::armenian},
    Language{.name = "basque", .stemmer = "basque", .stop_words = stop_word_lists::basque},
    Language{.name = "brazilian", .stemmer = "portuguese", .stop_words = stop_word_lists::brazilian},
    Language{.name = "bulgarian",
             .stop_words = stop_word_lists::bulgarian,
             .endings = "ища ият ът ия та то те ове еве ите ата ета ото ета я а и о е у"},
    Language{
        .name = "catalan", .stemmer = "catalan", .stop_words = stop_word_lists::catalan, .elisions = "d l m n s t"},
    Language{.name = "chinese", .stop_words = stop_word_lists::chinese, .script = Script::dictionary},
    Language{.name = "cjk", .stop_words = stop_word_lists::cjk, .script = Script::pairs},
    Language{.name = "czech",
             .stop_words = stop_word_lists::czech,
             .endings = "atech ětem atům ech ich ích ého ěmi emi ému ete eti iho ího ími imu ách ata aty ých ama ami "
                        "ové ovi ými em es ém ím ům at ám os us ým mi ou a e i o u y á é í ý ě"},
    Language{.name = "danish", .stemmer = "danish", .stop_words = stop_word_lists::danish},
    Language{.name = "dutch", .stemmer = "dutch", .stop_words = stop_word_lists::dutch},
    Language{.name = "english", .stemmer = "porter", .stop_words = stop_word_lists::english},
    Language{.name = "finnish", .stemmer = "finnish", .stop_words = stop_word_lists::finnish},
    Language{.name = "french",
             .stemmer = "french",
             .stop_words = stop_word_lists::french,
             .elisions = "l m t qu n s j d c jusqu quoiqu lorsqu puisqu"},
    Language{.name = "galician",
             .stop_words = stop_word_lists::galician,
             .endings = "cións mente ións ción eira eiro idade ista ismo ados adas idos idas ado ada ido ida ns es s a "
                        "e o"},
    Language{.name = "german", .stemmer = "german", .stop_words = stop_word_lists::german},
    Language{.name = "greek", .stemmer = "greek", .stop_words = stop_word_lists::greek, .script = Script::greek},
    Language{.name = "hindi", .stemmer = "hindi", .stop_words = stop_word_lists::hindi, .script = Script::devanagari},
    Language{.name = "hungarian", .stemmer = "hungarian", .stop_words = stop_word_lists::hungarian},
    Language{.name = "indonesian", .stemmer = "indonesian", .stop_words = stop_word_lists::indonesian},
    Language{.name = "irish", .stemmer = "irish", .stop_words = stop_word_lists::irish, .elisions = "d m b"},
    Language{.name = "italian",
             .stemmer = "italian",
             .stop_words = stop_word_lists::italian,
             .elisions = "c l all dall dell nell sull coll pell gl agl dagl degl negl sugl un m t s v d"},
    Language{.name = "japanese", .stop_words = stop_word_lists::japanese, .script = Script::dictionary},
    Language{.name = "latvian",
             .stop_words = stop_word_lists::latvian,
             .endings = "ajiem ajam ajai ajos ajās ajām ējam iem ajā ais ies iet ai ei iu us ām ās as am em es is im "
                        "um os īm īs ēm ēs a e i u s š ā ē ī ū o"},
    Language{.name = "lithuanian", .stemmer = "lithuanian", .stop_words = stop_word_lists::lithuanian},
    Language{
        .name = "nepali", .stemmer = "nepali", .stop_words = stop_word_lists::nepali, .script = Script::devanagari},
    Language{.name = "norwegian", .stemmer = "norwegian", .stop_words = stop_word_lists::norwegian},
    Language{.name = "persian", .stop_words = stop_word_lists::persian, .script = Script::persian},
    Language{.name = "polish",
             .stop_words = stop_word_lists::polish,
             .endings = "owych owym owej owego iami ościach ością ości ach ami emu ego ych ymi ich imi owi ów om em im "
                        "ym ej ie ą ę a e i o u y"},
    Language{.name = "portuguese", .stemmer = "portuguese", .stop_words = stop_word_lists::portuguese},
    Language{.name = "romanian", .stemmer = "romanian", .stop_words = stop_word_lists::romanian},
    Language{.name = "russian", .stemmer = "russian", .stop_words = stop_word_lists::russian},
    Language{.name = "serbian", .stemmer = "serbian", .stop_words = stop_word_lists::serbian},
    Language{.name = "spanish", .stemmer = "spanish", .stop_words = stop_word_lists::spanish},
    Language{.name = "swedish", .stemmer = "swedish", .stop_words = stop_word_lists::swedish},
    Language{.name = "tamil", .stemmer = "tamil", .stop_words = stop_word_lists::tamil},
    Language{.name = "thai", .stop_words = stop_word_lists::thai, .script = Script::dictionary},
    Language{
        .name = "turkish", .stemmer = "turkish", .stop_words = stop_word_lists::turkish, .script = Script::turkish},
    Language{.name = "yiddish", .stemmer = "yiddish", .stop_words = stop_word_lists::yiddish},
};

}  // namespace

std::span<const Language> languages() {
  return language_table;
}

const Language* find_language(std::string_view name) {
  const auto found = std::ranges::find(language_table, name, &Language::name);
  return found == language_table.end() ? nullptr : &*found;
}

}  // namespace octavo::query::search
