#include "query/search/internal/languages.h"

#include <algorithm>
#include <array>

namespace octavo::query::search {

namespace {

using Script = Language::Script;

// The words that say least: articles, pronouns, prepositions, conjunctions, forms of "to be" and "to have".
constexpr std::array kLanguages{
    Language{.name = "arabic",
             .stemmer = "arabic",
             .stop_words = "من في على إلى الى عن مع هذا هذه ذلك تلك التي الذي الذين ما لا لم لن أن ان إن كان كانت هو "
                           "هي هم نحن انا أنا أنت كل قد ثم أو او بل حتى إذا اذا بعد قبل عند بين و ف ب ل ك غير كما لكن "
                           "منذ حيث",
             .script = Script::arabic},
    Language{.name = "armenian",
             .stemmer = "armenian",
             .stop_words = "այդ այլ այն այս դու դուք եմ են ենք ես եք է էի էին էինք էիր էիք էր ըստ թ ի ին իսկ իր կամ "
                           "համար հետ հետո մենք մեջ մի ն նա նաև նրա նրանք որ որը որոնք որպես ու ում պիտի վրա և"},
    Language{.name = "basque",
             .stemmer = "basque",
             .stop_words = "al anitz arabera asko baina bat batean batek bati batzuk bera beraiek berau berauek bere "
                           "berori beroriek beste bezala da dago dira ditu du dute edo egin ere eta eurak ez gainera "
                           "gu gutxi guzti haiei haiek hala han hau hauek hemen hori horiek hura izan ni noiz nola non "
                           "nor oso zein zen zer zergatik ziren zu zuek"},
    Language{.name = "brazilian",
             .stemmer = "portuguese",
             .stop_words = "a ainda alem ambas ambos antes ao aonde aos apos aquele aqueles as assim com como contra "
                           "contudo cuja cujas cujo cujos da das de dela dele deles demais depois desde desta deste "
                           "dispoe do dos durante e ela elas ele eles em entao entre essa essas esse esses esta estas "
                           "este estes eu foi há isso isto já la lhe lo logo mais mas me mesma mesmo mesmos meu minha "
                           "muito na nas nem no nos nossa nosso não num numa o onde os ou para pela pelas pelo pelos "
                           "perante pode pois por porque portanto qual quais quando que quem se seja sem sendo ser seu "
                           "seus sob sobre sua suas são também te tem teu toda todas todo todos tua tudo um uma umas "
                           "uns você"},
    Language{.name = "bulgarian",
             .stop_words = "а аз ако ала бе без беше би бил била били било близо бъде бяха в вас ваш ваша вече ви вие "
                           "все всеки всички всичко във въпреки върху г ги го да дали два до докато дори е една едва "
                           "един едно ето за зад заради засега затова защо защото и из или им има имат иска й каза как "
                           "каква какво както какъв като кога когато което които кой който колко която къде към ли м "
                           "ме между мен ми мнозина мога могат може моля му н на над най нас него нея не неи ни ние но "
                           "няма о обаче около освен от отново още пак по повече под поне поради после почти преди "
                           "през при с са само се сега си след сме според съм със същ т т.н. така такава такива такъв "
                           "там твой те тези ти то това тогава този той толкова точно трябва тук тъй тя тях у харесва "
                           "хиляди ч че често чрез ще я",
             .endings = "ища ият ът ия та то те ове еве ите ата ета ото ета я а и о е у"},
    Language{.name = "catalan",
             .stemmer = "catalan",
             .stop_words = "a al als amb aquell aquella aquelles aquells aquest aquesta aquestes aquests això allò d "
                           "de del dels des e el ell ella elles ells els em en ens entre era eren es esta est està "
                           "estan et f fins ha han he hi ho i la les li llavors lo los m més meu meva molt molta molts "
                           "n na ni no nosaltres o on per perquè però pel pels poc què qual quan que qui s sa se sense "
                           "ser ses seu seva si són sobre son t tal també tan tot tota totes tots tu un una unes uns "
                           "us va vosaltres",
             .elisions = "d l m n s t"},
    Language{.name = "chinese",
             .stop_words = "的 了 和 是 就 都 而 及 與 着 或 一個 沒有 我們 你們 他們",
             .script = Script::dictionary},
    Language{.name = "cjk",
             .stop_words = "a and are as at be but by for if in into is it no not of on or s such t that the their "
                           "then there these they this to was will with www",
             .script = Script::pairs},
    Language{.name = "czech",
             .stop_words = "a aby ale ani ano asi az až bez bude budem budes by byl byla byli bylo být co což cz či "
                           "článek další dnes do email ho i já jak jako je jeho jej její jejich jen jenž ještě ji jiné "
                           "již jsem jsi jsme jsou jste k kam každý kde kdo když ke která které který kteří ku ma má "
                           "mate me mezi mi mne mnou mně moje můj může my na nad nám napište naše ne nebo nechť nejsou "
                           "není než ní nic nové nový o od ode on pak po pod podle pokud pouze práve pro proc proč "
                           "proto protože první pta před přede přes při s se si sice strana sve svých svým ta tak také "
                           "takže tato te tedy těma ten tento teto tím tipy to tohle toho tohoto tom tomto tomu tu "
                           "tuto ty tyto u už v vám váš vaše ve více však všechen vy z za zda zde ze zpet že",
             .endings = "atech ětem atům ech ich ích ého ěmi emi ému ete eti iho ího ími imu ách ata aty ých ama ami "
                        "ové ovi ými em es ém ím ům at ám os us ým mi ou a e i o u y á é í ý ě"},
    Language{.name = "danish",
             .stemmer = "danish",
             .stop_words = "ad af alle alt anden at blev blive bliver da de dem den denne der deres det dette dig din "
                           "disse dog du efter eller en end er et for fra ham han hans har havde have hende hendes her "
                           "hos hun hvad hvis hvor i ikke ind jeg jer jo kunne man mange med meget men mig min mine "
                           "mit mod ned noget nogle nu når og også om op os over på selv sig sin sine sit skal skulle "
                           "som sådan thi til ud under var vi vil ville vor være været"},
    Language{.name = "dutch",
             .stemmer = "dutch",
             .stop_words = "aan al alles als altijd andere ben bij daar dan dat de der deze die dit doch doen door dus "
                           "een eens en er ge geen geweest haar had heb hebben heeft hem het hier hij hoe hun iemand "
                           "iets ik in is ja je kan kon kunnen maar me meer men met mij mijn moet na naar niet niets "
                           "nog nu of om omdat onder ons ook op over reeds te tegen toch toen tot u uit uw van veel "
                           "voor want waren was wat werd wezen wie wil worden wordt zal ze zelf zich zij zijn zo "
                           "zonder zou"},
    Language{.name = "english",
             .stemmer = "porter",
             .stop_words = "a an and are as at be but by for if in into is it no not of on or such that the their then "
                           "there these they this to was will with"},
    Language{.name = "finnish",
             .stemmer = "finnish",
             .stop_words = "ei eivät emme en et ette että he heidän heihin heille heillä heitä hän häneen hänelle "
                           "hänen hänet häntä ja jos joka jotka kanssa keitä ken kenen kuin kuka kun me meidän meille "
                           "meitä mikä minkä minua minulla minulle minun minut minä mitkä mitä mukaan mutta myös ne "
                           "niiden niin niitä noiden nuo nyt näiden nämä näitä olemme olen olet olette oli olimme olin "
                           "olisi olivat olla olleet ollut on ovat poikki se sekä sen siinä siitä sillä sinua sinulle "
                           "sinun sinä sitä tai te teidän teille teitä tuo tuon tämä tämän tätä vaan vai vaikka"},
    Language{.name = "french",
             .stemmer = "french",
             .stop_words = "ai as au aux avaient avait avec avez avons c ce ceci cela ces cet cette d dans de des du "
                           "elle elles en es est et étaient était été être eu eux fut ici il ils j je l la le les leur "
                           "leurs lui m ma mais me même mes moi mon n ne nos notre nous on ont ou où par pas pour qu "
                           "que quel quelle quelles quels qui s sa sans se ses si soi son sont suis sur t ta te tes "
                           "toi ton tu un une vos votre vous y à",
             .elisions = "l m t qu n s j d c jusqu quoiqu lorsqu puisqu"},
    Language{.name = "galician",
             .stop_words = "a aínda alí aquel aquela aquelas aqueles aquilo aquí ao aos as así á ben cando che co coa "
                           "comigo con connosco contigo convosco coas cos cun cuns cunha cunhas da dalgunha dalgunhas "
                           "dalgún dalgúns das de del dela delas deles desde deste do dos dun duns dunha dunhas e el "
                           "ela elas eles en era eran esa esas ese eses esta estar estaba está están este estes "
                           "estiven estou eu é facer foi foron fun había hai iso isto la las lle lles lo los mais me "
                           "meu meus min miña miñas moi na nas neste nin no non nos nosa nosas noso nosos nós nun "
                           "nunha nuns nunhas o os ou ó ós para pero pode pois pola polas polo polos por que se senón "
                           "ser seu seus sexa sido sobre súa súas tamén tan te ten teñen teño ter teu teus ti tido "
                           "tiña tiven túa túas un unha unhas uns vos vosa vosas voso vosos vós",
             .endings = "cións mente ións ción eira eiro idade ista ismo ados adas idos idas ado ada ido ida ns es s a "
                        "e o"},
    Language{.name = "german",
             .stemmer = "german",
             .stop_words = "aber alle allem allen aller alles als also am an ander andere anderen anderer anderes auch "
                           "auf aus bei bin bis bist da damit dann das dass daß dein deine dem den denn der des dich "
                           "die dies diese diesem diesen dieser dieses dir doch dort du durch ein eine einem einen "
                           "einer eines er es etwas euch euer eure für gegen gewesen hab habe haben hat hatte hatten "
                           "hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in indem ins ist jede "
                           "jedem jeden jeder jedes jene jetzt kann kein keine können könnte machen man manche mein "
                           "meine mich mir mit muss musste nach nicht nichts noch nun nur ob oder ohne sehr sein seine "
                           "sich sie sind so solche soll sollte sondern sonst über um und uns unser unter viel vom von "
                           "vor während war waren warst was weg weil weiter welche wenn werde werden wie wieder will "
                           "wir wird wirst wo wollen würde würden zu zum zur zwar zwischen"},
    Language{.name = "greek",
             .stemmer = "greek",
             .stop_words = "ο η το οι τα του τησ των τον την και κι κ ειμαι εισαι ειναι ειμαστε ειστε στο στον στη "
                           "στην μα αλλα απο για προσ με σε ωσ παρα αντι κατα μετα θα να δε δεν μη μην επι ενω εαν αν "
                           "τοτε που πωσ ποιοσ ποια ποιο ποιοι ποιεσ ποιων ποιουσ αυτοσ αυτη αυτο αυτοι αυτων αυτουσ "
                           "αυτεσ αυτα εκεινοσ εκεινη εκεινο εκεινοι εκεινεσ εκεινα οπωσ ομωσ ισωσ οσο οτι",
             .script = Script::greek},
    Language{.name = "hindi",
             .stemmer = "hindi",
             .stop_words = "का के की को में है हैं से पर यह वह और एक ने कि भी तो ही था थी थे इस उस जो कर हो या तक साथ "
                           "लिए अपने अपनी कुछ जब तब अब वे ये हम आप मैं नहीं न गया गई गए किया करने वाले इन उन बाद "
                           "द्वारा",
             .script = Script::devanagari},
    Language{.name = "hungarian",
             .stemmer = "hungarian",
             .stop_words = "a abban ahhoz ahogy ahol aki akik akkor alatt által általában amely amelyek amelyekben "
                           "amelyeket amelyet amelynek ami amit amolyan amíg amikor át annak arra arról az azok azon "
                           "azt azzal azért aztán azután azonban bár be belül benne cikk csak de e eddig egész egy "
                           "egyes egyetlen egyéb egyik egyre ekkor el elég ellen elő először előtt első én éppen ebben "
                           "ehhez emilyen ennek erre ez ezt ezek ezen ezzel ezért és fel felé hanem hiszen hogy hogyan "
                           "igen így illetve ill ilyen ilyenkor ison ismét itt jó jól jobban kell kellett keresztül "
                           "keressünk ki kívül között közül legalább lehet lehetett legyen lenne lenni lesz lett maga "
                           "magát majd már más másik meg még mellett mert mely melyek mi mit míg miért milyen mikor "
                           "minden mindent mindenki mindig mint mintha mivel most nagy nagyobb nagyon ne néha nekem "
                           "neki nem néhány nélkül nincs olyan ott össze ő ők őket pedig persze rá s saját sem semmi "
                           "sok sokat sokkal számára szemben szerint szinte talán tehát teljes tovább továbbá több úgy "
                           "ugyanis új újabb újra után utána utolsó vagy vagyis valaki valami valamint való vagyok van "
                           "vannak volt voltam voltak voltunk vissza vele viszont volna"},
    Language{.name = "indonesian",
             .stemmer = "indonesian",
             .stop_words = "ada adalah agar akan aku anda antara apa atas atau bagi bahwa banyak beberapa belum bisa "
                           "bukan dalam dan dapat dari dengan di dia ia ini itu jika juga kalau kami kamu karena ke "
                           "kepada kita lagi lain lalu masih maka mereka namun oleh pada para pun saja sampai sangat "
                           "saya sebagai sebuah seperti serta setelah suatu sudah tanpa tapi telah tentang tetapi "
                           "tidak untuk yaitu yang"},
    Language{.name = "irish",
             .stemmer = "irish",
             .stop_words = "a ach ag agus an aon ar arna as b ba beirt bhúr caoga ceathair chomh chun cois cuig d "
                           "daichead dar de deich den dhá do don dtí dá dár dó faoi faoin faoina fara fiche gach gan "
                           "go gur haon hocht i iad idir in ina ins inár is le leis lena lenár m mar mo mé na nach "
                           "naoi nó ná níor ó ocht os roimh sa seacht sibh sinn sna sé sí tar thar thú triúr trí trína "
                           "tú um ár é í ón óna",
             .elisions = "d m b"},
    Language{.name = "italian",
             .stemmer = "italian",
             .stop_words = "a abbiamo ad agli ai al alla alle allo anche avere aveva c che chi ci ciò coi col come con "
                           "contro cui da dagli dai dal dalla dalle dallo degli dei del della delle dello di dove e ed "
                           "era erano essere fra gli ha hai hanno ho i il in io l la le lei li lo loro lui ma mi mia "
                           "mie miei mio ne negli nei nel nella nelle nello noi non nostra nostro o per perché più "
                           "quale quanta quanto quella quelle quelli quello questa queste questi questo se sei si sia "
                           "siamo siete sono sta stata stati stato su sua sue sugli sui sul sulla sulle sullo suo suoi "
                           "ti tra tu tua tue tuo tuoi tutti tutto un una uno vi voi vostra vostro è",
             .elisions = "c l all dall dell nell sull coll pell gl agl dagl degl negl sugl un m t s v d"},
    Language{.name = "japanese",
             .stop_words = "の に は を た が で て と し れ さ ある いる も する から な こと として い や れる など "
                           "なっ ない この ため その あっ よう また もの あり まで "
                           "られ なる へ か だ これ によって により おり より による ず なり られる において ば なかっ "
                           "なく しかし について せ だっ できる それ う ので なお のみ "
                           "でき き つ における および いう さらに でも ら たり その他 に関する たち ます ん なら "
                           "に対して です ました",
             .script = Script::dictionary},
    Language{.name = "latvian",
             .stop_words = "aiz ap apakš apakšpus ar arī ārpus augšpus bet bez bija biji biju bijām bijāt būs būsi "
                           "būsiet būsim būt būšu caur diemžēl diezin droši dēļ esam esat esi esmu gan gar iekam "
                           "iekams iekām iekāms iekš iekšpus ik ir it itin iz ja jau jeb jebšu jel jo jā ka kamēr kaut "
                           "kolīdz kopš kā kļuva kļūt labad lai lejpus līdz līdzko ne nebūt nedz nekā nevis nezin no "
                           "nu nē otrpus pa par pat pie pirms pret priekš pār pēc starp tad tak tapi taps tapsi tapt "
                           "tas te tiec tiek tiekam tika tikai tikko tiks tikt tomēr topat turpretim turpretī tā tādēļ "
                           "tālab tāpēc un uz vai var varat vien virs virspus vis viņpus zem šaipus",
             .endings = "ajiem ajam ajai ajos ajās ajām ējam iem ajā ais ies iet ai ei iu us ām ās as am em es is im "
                        "um os īm īs ēm ēs a e i u s š ā ē ī ū o"},
    Language{.name = "lithuanian",
             .stemmer = "lithuanian",
             .stop_words = "ir kad kaip iš į su tai bet ar per už dėl apie nuo prie yra buvo bus kas ką kuris kuri "
                           "kurie jis ji jie jos jo jų aš tu mes jūs ne taip tik dar jau o tačiau nes kai po iki be"},
    Language{.name = "nepali",
             .stemmer = "nepali",
             .stop_words = "र छ हो को का की मा ले लाई पनि यो त्यो भने गर्ने छन् एक",
             .script = Script::devanagari},
    Language{.name = "norwegian",
             .stemmer = "norwegian",
             .stop_words = "alle at av bare begge ble blei bli blir blitt både båe da de deg dei deim deira deires dem "
                           "den denne der dere deres det dette di din disse ditt du dykk dykkar då eg ein eit eitt "
                           "eller elles en enn er et ett etter for fordi fra før ha hadde han hans har hennar henne "
                           "hennes her hjå ho hoe honom hoss hossen hun hva hvem hver hvilke hvilken hvis hvor hvordan "
                           "hvorfor i ikke ikkje inn inni ja jeg kan kom korleis korso kun kunne kva kvar kvarhelst "
                           "kven kvi kvifor man mange me med medan meg meget mellom men mi min mine mitt mot mykje ned "
                           "no noe noen noka noko nokon nokor nokre nå når og også om opp oss over på samme seg selv "
                           "si sia sidan siden sin sine sitt sjøl skal skulle slik so som somme somt så sånn til um "
                           "upp ut uten var vart varte ved vere verte vi vil ville vore vors vort vår være vært å"},
    Language{.name = "persian",
             .stop_words = "از با به بر در را که و یا تا این آن برای هم نیز اما اگر چه هر همه بی باید شد شده است بود "
                           "بوده می های ها کرد کرده شود کند کنند دارد دارند داشت خود ما من تو او آنها یک دو سه پس پیش "
                           "روی زیر",
             .script = Script::persian},
    Language{.name = "polish",
             .stop_words = "a aby ach acz aczkolwiek aj albo ale ależ ani aż bardziej bardzo bo bowiem by byli "
                           "bynajmniej być był była było były będzie będą cali cała cały ci cię ciebie co cokolwiek "
                           "coś czasami czasem czemu czy czyli daleko dla dlaczego dlatego do dobrze dokąd dość dużo "
                           "dwa dwaj dwie dzisiaj dziś gdy gdyby gdyż gdzie gdziekolwiek go i ich ile im inna inne "
                           "inny innych iż ja ją jak jakaś jakby jaki jakichś jakie jakiś jakiż jakkolwiek jako jakoś "
                           "je jeden jedna jednak jednakże jedno jego jej jemu jest jestem jeszcze jeśli jeżeli już "
                           "każdy kiedy kilka kimś kto ktokolwiek ktoś która które którego której który których którym "
                           "którzy ku lecz lub ma mają mam mi mimo między mną mnie mogą moi moim moja moje może "
                           "możliwe można mój mu musi my na nad nam nami nas nasi nasz nasza nasze natomiast "
                           "natychmiast nawet nią nic nich nie niego niej niemu nigdy nim nimi niż no o obok od około "
                           "on ona one oni ono oraz oto owszem pan po pod podczas pomimo ponad ponieważ powinien przed "
                           "przede przedtem przez przy roku również są się sobie sobą sposób swoje ta tak taka taki "
                           "takie także tam te tego tej ten teraz też to tobą tobie toteż trzeba tu tutaj twoi twoim "
                           "twoja twoje twój ty tych tylko tym u w wam wami was wasz wasza wasze we według wiele wielu "
                           "więc więcej wszyscy wszystkich wszystkie wszystkim wszystko wtedy wy właśnie z za zapewne "
                           "zawsze ze zł znowu znów został żaden żadna żadne żadnych że żeby",
             .endings = "owych owym owej owego iami ościach ością ości ach ami emu ego ych ymi ich imi owi ów om em im "
                        "ym ej ie ą ę a e i o u y"},
    Language{.name = "portuguese",
             .stemmer = "portuguese",
             .stop_words = "a ao aos aquela aquelas aquele aqueles aquilo as até com como da das de dela delas dele "
                           "deles depois do dos e ela elas ele eles em entre era eram essa essas esse esses esta estas "
                           "este estes estava estavam está estão eu foi foram há isso isto já lhe lhes mais mas me "
                           "mesmo meu meus minha minhas muito na nas nem no nos nossa nossas nosso nossos não nós num "
                           "numa o os ou para pela pelas pelo pelos por qual quando que quem se seja sem ser será seu "
                           "seus só sua suas são também te tem ter teu teus tinha tua tuas tém tu um uma você vocês "
                           "vos à às é"},
    Language{.name = "romanian",
             .stemmer = "romanian",
             .stop_words = "a acea aceasta această aceea acei aceia acel acela acele acelea acest acesta aceste "
                           "acestea aceşti aceştia acolo acum ai aia aibă aici al ale alea altceva altcineva am ar are "
                           "asemenea asta astea astăzi asupra atare atât au avea avem aveţi azi aş aşadar aţi ba bine "
                           "ca care caut ce cel ceva chiar cine cineva cu cum cumva cât câte câtva căci către da dacă "
                           "dar datorită de deci deja deoarece deşi din dintre doar două după ea ei el ele era eram "
                           "este eu eşti face fi fie fiecare fii fim fiu frumos fără graţie halbă iar ieri ii il imi "
                           "in isi la le li lor lui lângă mai mea mei mele mereu meu mi mie mine mult multă mulţi mă "
                           "ne nici nimic nişte noastre noastră noi nostru noştri nu o oricare orice pe pentru peste "
                           "până poate prea prin sa sale sau se spre sub sunt suntem să său ta tale te toată toate tot "
                           "toţi tu un una unde unei unele unii unor unu vor voi vostru vă în între îl îi îmi îşi îţi "
                           "ţi şi"},
    Language{.name = "russian",
             .stemmer = "russian",
             .stop_words = "а без более бы был была были было быть в вам вас весь во вот все всего всех вы где да даже "
                           "для до его ее если есть еще же за здесь и из или им их к как ко когда кто ли либо мне "
                           "может мы на надо наш не него нее нет ни них но ну о об однако он она они оно от очень по "
                           "под при с со так также такой там те тем то того тоже той только том ты у уже хотя чего чей "
                           "чем что чтобы чье чья эта эти это я"},
    Language{.name = "serbian",
             .stemmer = "serbian",
             .stop_words = "i u na je se da su za od sa ne kao koji koja koje što ali o po iz ili bi biti bio bila ovo "
                           "to taj ta te ga mu joj ih im mi vi on ona oni ono и у на је се да су за од са не као који "
                           "која које"},
    Language{.name = "spanish",
             .stemmer = "spanish",
             .stop_words = "a al algo algunas algunos ante antes como con contra cual cuando de del desde donde "
                           "durante e el él ella ellas ellos en entre era eran es esa esas ese eso esos esta estas "
                           "este esto estos está están fue fueron ha había han hasta hay la las le les lo los me mi "
                           "mis mucho muchos muy más mí nada ni no nos nosotros nuestra nuestras nuestro nuestros o os "
                           "otra otras otro otros para pero poco por porque que quien quienes qué se sea ser si sin "
                           "sobre son su sus suya suyo sí también tanto te tiene tienen todo todos tu tus tú un una "
                           "uno unos vosotros vuestra vuestro y ya yo"},
    Language{.name = "swedish",
             .stemmer = "swedish",
             .stop_words = "alla allt att av blev bli blir blivit de dem den denna deras dess dessa det detta dig din "
                           "dina ditt du där då efter ej eller en er era ert ett från för ha hade han hans har henne "
                           "hennes hon honom hur här i icke ingen inom inte jag ju kan kunde man med mellan men mig "
                           "min mina mitt mot mycket ni nu när någon något några och om oss på samma sedan sig sin "
                           "sina sitta själv skulle som så sådan sådana sådant till under upp ut utan vad var vara "
                           "varför varit varje vars vart vem vi vid vilka vilkas vilken vilket vår våra vårt än är åt "
                           "över"},
    Language{.name = "tamil",
             .stemmer = "tamil",
             .stop_words = "ஒரு என்று மற்றும் இந்த இது என்ற கொண்டு என்பது பல ஆகும் அல்லது அவர் நான்"},
    Language{.name = "thai",
             .stop_words = "ไว้ ไม่ ไป ได้ ให้ ใน โดย แห่ง แล้ว และ แรก แบบ แต่ เอง เห็น เลย เริ่ม เรา เมื่อ เพื่อ "
                           "เพราะ เป็น เปิด เนื่องจาก เดียวกัน เดียว เช่น เฉพาะ เข้า ถ้า ถูก ถึง ต่างๆ ต่าง ต้อง ตาม "
                           "ตั้งแต่ ตั้ง ด้าน ด้วย ดัง ซึ่ง ช่วง จึง จาก จัด จะ คือ ความ ครั้ง คง ขึ้น ของ ขอ รับ "
                           "ระหว่าง รวม ยัง มี มาก มา พร้อม พบ ผ่าน ผล บาง นี้ นั้น นัก นอกจาก ทุก ที่ ทำให้ ทำ ทาง "
                           "ทั้งนี้ ทั้ง กว่า กัน การ กับ กลับ อย่าง อะไร อยู่ ออก อีก อาจ",
             .script = Script::dictionary},
    Language{.name = "turkish",
             .stemmer = "turkish",
             .stop_words = "acaba ama ancak arada aslında ayrıca bana bazı belki ben benden beni benim beri bile bin "
                           "bir birçok biri birkaç birşey biz bize bizden bizi bizim böyle böylece bu buna bunda "
                           "bundan bunlar bunları bunların bunu bunun burada çok çünkü da daha dahi de defa değil "
                           "diğer diye dolayı eğer en gibi göre halen hangi hatta hem henüz hep hepsi her herhangi "
                           "herkes hiç hiçbir için ile ilgili ise işte itibaren kadar karşın kendi kendine ki kim "
                           "kimden kime kimi kimse mı mi mu mü nasıl ne neden nedenle nerde nerede nereye niye o olan "
                           "olarak oldu olduğu olması olmaz olsa olsun olup olur on ona ondan onlar onları onların onu "
                           "onun oysa öyle pek rağmen sadece sanki şey siz size sizden sizi sizin şu şöyle tarafından "
                           "tüm ve veya ya yani yine yoksa zaten",
             .script = Script::turkish},
    Language{.name = "yiddish",
             .stemmer = "yiddish",
             .stop_words = "און איז אין די דער דאָס א אַן צו פֿון מיט אויף ניט אַז ווי"},
};

}  // namespace

std::span<const Language> languages() {
  return kLanguages;
}

const Language* find_language(std::string_view name) {
  const auto found = std::ranges::find(kLanguages, name, &Language::name);
  return found == kLanguages.end() ? nullptr : &*found;
}

}  // namespace octavo::query::search
