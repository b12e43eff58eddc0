// Functions of one number against mpmath at 420 digits: ordinary arguments, tiny and huge ones,
// denormals, the edges of overflow; in f32 within the bound that each operation documents.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/bit_equal.h"
#include "support/op_values.h"

namespace quern::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// One function: its registry id and its exact value at each point, to more digits than f64 holds
// and then rounded to it. kNaN and kInf stand where the function has no value or leaves f64.
struct FunctionRow {
  std::string_view id;
  std::vector<double> expected;
};

// Each point is an f32 number written out in full, so that the expected value belongs to the
// rounded argument and not to the decimal one: 9.99999993922529e-09 is f32(1e-8). In order:
// ordinary values of both signs; 1e-8, where 1 + x is 1 in f32; 17, where tanh rounds to 1; 88.5,
// -87 and -103.5, near the last finite exp, the last normal one and a denormal one; a denormal;
// 1e30, whose sine needs the exact reduction; the f32 next to pi/2, where cos cancels; and the f32
// above -1, where log1p is near its pole.
const std::vector<double> kPoints32 = {1.0,
                                       -1.0,
                                       0.5,
                                       -0.30000001192092896,
                                       3.25,
                                       -7.5,
                                       9.99999993922529e-09,
                                       -9.99999993922529e-09,
                                       17.0,
                                       -17.0,
                                       88.5,
                                       -87.0,
                                       -103.5,
                                       9.99994610111476e-41,
                                       -9.99994610111476e-41,
                                       1.0000000150474662e+30,
                                       1.5707963705062866,
                                       -0.9999999403953552};
const std::vector<FunctionRow> kRows32 = {
    {"math.exp",
     {2.718281828459045, 0.36787944117144233, 1.6487212707001282, 0.7408182118504766,
      25.790339917193062, 0.0005530843701478336, 1.00000001, 0.9999999900000001, 24154952.7535753,
      4.139937718785167e-08, 2.7230878250681117e+38, 1.6458114310822737e-38, 1.1233656060805691e-45,
      1.0, 1.0, kInf, 4.810477591238009, 0.3678794630987664}},
    {"math.log",
     {0.0, kNaN, -0.6931471805599453, kNaN, 1.1786549963416462, kNaN, -18.420680750029838, kNaN,
      2.833213344056216, kNaN, 4.483002552013883, kNaN, kNaN, -92.10340910966488, kNaN,
      69.07755280486883, 0.45158273311698965, kNaN}},
    {"activation.log1p",
     {0.6931471805599453, -kInf, 0.4054651081081644, -0.35667496096863105, 1.4469189829363254, kNaN,
      9.999999889225291e-09, -9.99999998922529e-09, 2.8903717578961645, kNaN, 4.4942386252808095,
      kNaN, kNaN, 9.99994610111476e-41, -9.99994610111476e-41, 69.07755280486883,
      0.9442157226991097, -16.635532333438686}},
    {"activation.expm1",
     {1.7182818284590453, -0.6321205588285577, 0.6487212707001282, -0.2591817881495235,
      24.790339917193062, -0.9994469156298522, 9.99999998922529e-09, -9.999999889225291e-09,
      24154951.7535753, -0.9999999586006229, 2.7230878250681117e+38, -1.0, -1.0,
      9.99994610111476e-41, -9.99994610111476e-41, kInf, 3.8104775912380093, -0.6321205369012336}},
    {"math.sin",
     {0.8414709848078965, -0.8414709848078965, 0.479425538604203, -0.29552021804983797,
      -0.10819513453010837, -0.9379999767747389, 9.99999993922529e-09, -9.99999993922529e-09,
      -0.9613974918795568, 0.9613974918795568, 0.5101900080017631, 0.8218178366308225,
      -0.17170249351277814, 9.99994610111476e-41, -9.99994610111476e-41, -0.7911634385219837,
      0.999999999999999, -0.841470952603368}},
    {"math.cos",
     {0.5403023058681398, 0.5403023058681398, 0.8775825618903728, 0.9553364856027305,
      -0.9941296760805463, 0.3466353178350258, 1.0, 1.0, -0.27516333805159693, -0.27516333805159693,
      0.8600617162362019, 0.569750334265312, -0.9851488485104646, 1.0, 1.0, -0.6116047854178966,
      -4.371139000186241e-08, 0.5403023560237179}},
    {"activation.tanh",
     {0.7615941559557649, -0.7615941559557649, 0.46211715726000974, -0.2913126233608736,
      0.996997635486526, -0.9999993881955461, 9.99999993922529e-09, -9.99999993922529e-09,
      0.9999999999999966, -0.9999999999999966, 1.0, -1.0, -1.0, 9.99994610111476e-41,
      -9.99994610111476e-41, 1.0, 0.9171523426100238, -0.7615941309233423}},
    {"math.erf",
     {0.8427007929497149, -0.8427007929497149, 0.5204998778130465, -0.32862677175271543,
      0.9999956972205363, -1.0, 1.1283791602378209e-08, -1.1283791602378209e-08, 1.0, -1.0, 1.0,
      -1.0, -1.0, 1.128373085257589e-40, -1.128373085257589e-40, 1.0, 0.9736789292610958,
      -0.8427007682073785}},
    {"activation.sigmoid",
     {0.7310585786300049, 0.2689414213699951, 0.6224593312018546, 0.42555748027417084,
      0.9626731126558705, 0.0005527786369235996, 0.5000000025, 0.4999999975, 0.9999999586006245,
      4.1399375473943306e-08, 1.0, 1.6458114310822737e-38, 1.1233656060805691e-45, 0.5, 0.5, 1.0,
      0.8278971075444875, 0.2689414330889797}},
    {"activation.log_sigmoid",
     {-0.3132616875182228, -1.3132616875182228, -0.4740769841801067, -0.8543552513164155,
      -0.038041371687783126, -7.500552931475361, -0.6931471755599453, -0.6931471855599453,
      -4.139937633089748e-08, -17.000000041399375, -3.672301681915042e-39, -87.0, -103.5,
      -0.6931471805599453, -0.6931471805599453, 0.0, -0.18886639856918647, -1.3132616439437363}},
    {"activation.softplus",
     {1.3132616875182228, 0.3132616875182228, 0.9740769841801067, 0.5543552393954866,
      3.288041371687783, 0.0005529314753607964, 0.6931471855599453, 0.6931471755599453,
      17.000000041399375, 4.139937633089748e-08, 88.5, 1.6458114310822737e-38,
      1.1233656060805691e-45, 0.6931471805599453, 0.6931471805599453, 1.0000000150474662e+30,
      1.7596627690754731, 0.31326170354838107}},
    {"activation.swish",
     {0.7310585786300049, -0.2689414213699951, 0.3112296656009273, -0.12766724915529173,
      3.1286876161315793, -0.004145839776926996, 4.999999994612645e-09, -4.9999999446126456e-09,
      16.999999296210618, -7.037893830570362e-07, 88.5, -1.431855945041578e-36,
      -1.162683402293389e-43, 4.99997305055738e-41, -4.99997305055738e-41, 1.0000000150474662e+30,
      1.300457771683534, -0.26894141705882113}},
    {"activation.quick_gelu",
     {0.8457957659328212, -0.1542042340671787, 0.35038843660638014, -0.11251586766270662,
      3.2371806204780653, -2.1443267344693104e-05, 5.000000012162645e-09, -4.999999927062646e-09,
      16.99999999999538, -4.619259726909859e-12, 88.5, -4.283493766901637e-63,
      -3.242853289783504e-75, 4.99997305055738e-41, -4.99997305055738e-41, 1.0000000150474662e+30,
      1.469392723356836, -0.15420423810715775}},
    {"activation.mish",
     {0.8650983882673103, -0.3034014613741089, 0.37524521130489513, -0.15113318200816367,
      3.2409561733599657, -0.0041469856425822285, 5.9999999955351735e-09, -5.999999931535175e-09,
      16.999999999999943, -7.037893976252567e-07, 88.5, -1.431855945041578e-36,
      -1.162683402293389e-43, 5.999967660668855e-41, -5.999967660668855e-41, 1.0000000150474662e+30,
      1.4804211220463273, -0.3034014578445146}},
    {"activation.gelu",
     {0.8413447460685429, -0.15865525393145705, 0.34573123063700656, -0.11462657653421583,
      3.24812466861223, -2.393168754683172e-13, 5.000000009506873e-09, -4.999999929718417e-09, 17.0,
      -6.98019354356814e-64, 88.5, 0.0, 0.0, 4.99997305055738e-41, -4.99997305055738e-41,
      1.0000000150474662e+30, 1.4795095744549913, -0.15865525889744564}},
    {"activation.gelu_tanh",
     {0.8411919906082768, -0.1588080093917233, 0.34571400982514394, -0.1146290796485276,
      3.2484313728552525, -4.0162682175141306e-18, 5.000000009506873e-09, -4.999999929718417e-09,
      17.0, -1.5845430789485806e-163, 88.5, 0.0, 0.0, 4.99997305055738e-41, -4.99997305055738e-41,
      1.0000000150474662e+30, 1.4793137243324639, -0.1588080143367676}},
    {"activation.softsign",
     {0.5, -0.5, 0.3333333333333333, -0.23076923782303482, 0.7647058823529411, -0.8823529411764706,
      9.999999839225292e-09, -9.999999839225292e-09, 0.9444444444444444, -0.9444444444444444,
      0.9888268156424581, -0.9886363636363636, -0.9904306220095693, 9.99994610111476e-41,
      -9.99994610111476e-41, 1.0, 0.6110154769655823, -0.49999998509883836}},
    {"activation.tanh_shrink",
     {0.23840584404423512, -0.23840584404423512, 0.03788284273999024, -0.008687388560055381,
      2.253002364513474, -6.500000611804454, 3.333333272558624e-25, -3.333333272558624e-25,
      16.000000000000004, -16.000000000000004, 87.5, -86.0, -102.5, 3.3332794347386012e-121,
      -3.3332794347386012e-121, 1.0000000150474662e+30, 0.6536440278962629, -0.23840580947201293}},
    {"activation.elu",
     {1.0, -0.6321205588285577, 0.5, -0.2591817881495235, 3.25, -0.9994469156298522,
      9.99999993922529e-09, -9.999999889225291e-09, 17.0, -0.9999999586006229, 88.5, -1.0, -1.0,
      9.99994610111476e-41, -9.99994610111476e-41, 1.0000000150474662e+30, 1.5707963705062866,
      -0.6321205369012336}},
    {"activation.selu",
     {1.0507009873554805, -1.1113307378125628, 0.5253504936777402, -0.45566733090532163,
      3.414778208905312, -1.757126963580787, 1.0507009809698758e-08, -1.7580993213720824e-08,
      17.861916785043167, -1.758099268063159, 92.98703738096002, -1.7580993408473768,
      -1.7580993408473768, 1.0506953241942866e-40, -1.7580898648879154e-40, 1.0507010031658681e+30,
      1.6504372974253605, -1.1113306992621488}},
    {"activation.hard_sigmoid",
     {0.6666666666666666, 0.3333333333333333, 0.5833333333333334, 0.4499999980131785, 1.0, 0.0,
      0.5000000016666667, 0.49999999833333336, 1.0, 0.0, 1.0, 0.0, 0.0, 0.5, 0.5, 1.0,
      0.7617993950843811, 0.3333333432674408}},
    {"activation.hard_swish",
     {0.6666666666666666, -0.3333333333333333, 0.2916666666666667, -0.13500000476837157, 3.25, 0.0,
      4.999999986279311e-09, -4.999999952945979e-09, 17.0, 0.0, 88.5, 0.0, 0.0,
      4.99997305055738e-41, -4.99997305055738e-41, 1.0000000150474662e+30, 1.1966317248524305,
      -0.3333333233992253}},
    {"elementwise.sqrt",
     {1.0, kNaN, 0.7071067811865476, kNaN, 1.8027756377319946, kNaN, 9.999999969612645e-05, kNaN,
      4.123105625617661, kNaN, 9.40744386111339, kNaN, kNaN, 9.999973050521066e-21, kNaN,
      1000000007523733.1, 1.2533141547538218, kNaN}},
};
// The same places in f64: 709.75 and -745 are the ends of exp, 5e-324 is the smallest denormal,
// 1e22 and 1e300 need the reduction of sin and cos in many bits, -1.25e-9 lies where 1 + x loses
// half of its digits.
const std::vector<double> kPoints64 = {1.0,    -1.0,   0.1,    -2.718281828459045,
                                       12.0,   -30.25, 1e-17,  -1e-17,
                                       700.0,  -745.0, 709.75, -36.5,
                                       5e-324, 1e+300, 1e+22,  -1.25e-09};
const std::vector<FunctionRow> kRows64 = {
    {"math.exp",
     {2.718281828459045, 0.36787944117144233, 1.1051709180756477, 0.06598803584531254,
      162754.79141900392, 7.287724095819692e-14, 1.0, 1.0, 1.0142320547350045e+304, 5e-324,
      1.7398368732641605e+308, 1.4068617124461467e-16, 1.0, kInf, kInf, 0.99999999875}},
    {"math.log",
     {0.0, kNaN, -2.3025850929940455, kNaN, 2.4849066497880004, kNaN, -39.14394658089878, kNaN,
      6.551080335043404, kNaN, 6.564912795353081, kNaN, -744.4400719213812, 690.7755278982137,
      50.65687204586901, kNaN}},
    {"activation.log1p",
     {0.6931471805599453, -kInf, 0.09531017980432487, kNaN, 2.5649493574615367, kNaN, 1e-17, -1e-17,
      6.55250788703459, kNaN, 6.566320750531109, kNaN, 5e-324, 690.7755278982137, 50.65687204586901,
      -1.25000000078125e-09}},
    {"activation.expm1",
     {1.7182818284590453, -0.6321205588285577, 0.10517091807564763, -0.9340119641546875,
      162753.79141900392, -0.9999999999999272, 1e-17, -1e-17, 1.0142320547350045e+304, -1.0,
      1.7398368732641605e+308, -0.9999999999999999, 5e-324, kInf, kInf, -1.24999999921875e-09}},
    {"math.sin",
     {0.8414709848078965, -0.8414709848078965, 0.09983341664682815, -0.41078129050290885,
      -0.5365729180004349, 0.9191536942035773, 1e-17, -1e-17, 0.5439705233633756,
      0.42823715115227945, -0.24734554432809752, 0.9317168878547055, 5e-324, -0.8178819121159085,
      -0.8522008497671888, -1.25e-09}},
    {"math.cos",
     {0.5403023058681398, 0.5403023058681398, 0.9950041652780258, -0.9117339147869651,
      0.8438539587324921, 0.3938990815322077, 1.0, 1.0, -0.8391043258807425, -0.9036663888697973,
      0.9689273356145119, 0.36318540841606234, 1.0, -0.5753861119575491, 0.523214785395139, 1.0}},
    {"activation.tanh",
     {0.7615941559557649, -0.7615941559557649, 0.09966799462495582, -0.9913289158005998,
      0.9999999999244973, -1.0, 1e-17, -1e-17, 1.0, -1.0, 1.0, -1.0, 5e-324, 1.0, 1.0, -1.25e-09}},
    {"math.erf",
     {0.8427007929497149, -0.8427007929497149, 0.1124629160182849, -0.9998790689599072, 1.0, -1.0,
      1.1283791670955127e-17, -1.1283791670955127e-17, 1.0, -1.0, 1.0, -1.0, 5e-324, 1.0, 1.0,
      -1.4104739588693908e-09}},
    {"activation.sigmoid",
     {0.7310585786300049, 0.2689414213699951, 0.52497918747894, 0.06190316741499357,
      0.9999938558253978, 7.287724095819161e-14, 0.5, 0.5, 1.0, 5e-324, 1.0, 1.4068617124461467e-16,
      0.5, 1.0, 1.0, 0.4999999996875}},
    {"activation.log_sigmoid",
     {-0.3132616875182228, -1.3132616875182228, -0.6443966600735709, -2.7821839307300644,
      -6.144193477732806e-06, -30.250000000000075, -0.6931471805599453, -0.6931471805599453,
      -9.85967654375977e-305, -745.0, -5.747665286136106e-309, -36.5, -0.6931471805599453, 0.0, 0.0,
      -0.6931471811849453}},
    {"activation.softplus",
     {1.3132616875182228, 0.3132616875182228, 0.7443966600735709, 0.06390210227101935,
      12.000006144193478, 7.287724095819427e-14, 0.6931471805599453, 0.6931471805599453, 700.0,
      5e-324, 709.75, 1.4068617124461467e-16, 0.6931471805599453, 1e+300, 1e+22,
      0.6931471799349453}},
    {"activation.swish",
     {0.7310585786300049, -0.2689414213699951, 0.052497918747894, -0.1682702551082351,
      11.999926269904773, -2.2045365389852963e-12, 5e-18, -5e-18, 700.0, -2.105e-321, 709.75,
      -5.135045250428435e-15, 0.0, 1e+300, 1e+22, -6.24999999609375e-10}},
    {"activation.quick_gelu",
     {0.8457957659328212, -0.1542042340671787, 0.05424475808361819, -0.026350793800063724,
      11.999999983813582, -1.3208601291086204e-21, 5e-18, -5e-18, 700.0, 0.0, 709.75,
      -3.824870759851839e-26, 0.0, 1e+300, 1e+22, -6.249999993351563e-10}},
    {"activation.mish",
     {0.8650983882673103, -0.3034014613741089, 0.06317941749148973, -0.17346787020778293,
      11.999999999093978, -2.2045365389853767e-12, 6.0000000000000004e-18, -6.0000000000000004e-18,
      700.0, -2.105e-321, 709.75, -5.135045250428436e-15, 5e-324, 1e+300, 1e+22, -7.499999995e-10}},
    {"activation.gelu",
     {0.8413447460685429, -0.15865525393145705, 0.053982783727702904, -0.00891894318923516, 12.0,
      -7.891136864367313e-200, 5e-18, -5e-18, 700.0, 0.0, 709.75, -2.0238248852723182e-290, 0.0,
      1e+300, 1e+22, -6.249999993766527e-10}},
    {"activation.gelu_tanh",
     {0.8411919906082768, -0.1588080093917233, 0.053982751045435165, -0.0084460031410336, 12.0, 0.0,
      5e-18, -5e-18, 700.0, 0.0, 709.75, 0.0, 0.0, 1e+300, 1e+22, -6.249999993766527e-10}},
    {"activation.softsign",
     {0.5, -0.5, 0.09090909090909091, -0.7310585786300049, 0.9230769230769231, -0.968, 1e-17,
      -1e-17, 0.9985734664764622, -0.9986595174262735, 0.998593035525853, -0.9733333333333334,
      5e-324, 1.0, 1.0, -1.2499999984375e-09}},
    {"activation.tanh_shrink",
     {0.23840584404423512, -0.23840584404423512, 0.00033200537504418296, -1.7269529126584453,
      11.000000000075502, -29.25, 3.333333333333334e-52, -3.333333333333334e-52, 699.0, -744.0,
      708.75, -35.5, 0.0, 1e+300, 1e+22, -6.510416666666667e-28}},
    {"activation.elu",
     {1.0, -0.6321205588285577, 0.1, -0.9340119641546875, 12.0, -0.9999999999999272, 1e-17, -1e-17,
      700.0, -1.0, 709.75, -0.9999999999999999, 5e-324, 1e+300, 1e+22, -1.24999999921875e-09}},
    {"activation.selu",
     {1.0507009873554805, -1.1113307378125628, 0.10507009873554805, -1.6420858185239198,
      12.608411848265765, -1.7580993408472487, 1.0507009873554805e-17, -1.7580993408473768e-17,
      735.4906911488364, -1.7580993408473768, 745.7350257755522, -1.7580993408473766, 5e-324,
      1.0507009873554805e+300, 1.0507009873554805e+22, -2.197624174685706e-09}},
    {"activation.hard_sigmoid",
     {0.6666666666666666, 0.3333333333333333, 0.5166666666666667, 0.04695302859015915, 1.0, 0.0,
      0.5, 0.5, 1.0, 0.0, 1.0, 0.0, 0.5, 1.0, 1.0, 0.49999999979166665}},
    {"activation.hard_swish",
     {0.6666666666666666, -0.3333333333333333, 0.051666666666666666, -0.12763156440774764, 12.0,
      0.0, 5e-18, -5e-18, 700.0, 0.0, 709.75, 0.0, 0.0, 1e+300, 1e+22, -6.249999997395834e-10}},
    {"elementwise.sqrt",
     {1.0, kNaN, 0.31622776601683794, kNaN, 3.4641016151377544, kNaN, 3.1622776601683795e-09, kNaN,
      26.457513110645905, kNaN, 26.64113360951444, kNaN, 2.2227587494850775e-162, 1e+150,
      100000000000.0, kNaN}},
};

// One unit in the last place of T at `x`; the smallest denormal below the normal numbers.
template <class T>
double ulp_of(double x) {
  const T a = static_cast<T>(std::abs(x));
  // The largest number has no neighbour above: its unit is the distance to the one below.
  constexpr T kMax = std::numeric_limits<T>::max();
  if (!(a < kMax))
    return static_cast<double>(kMax) - static_cast<double>(std::nextafter(kMax, T(0)));
  // From `a` upwards: at a power of 2 this is the larger of the two neighbouring units. Below the
  // normal numbers it is the denormal step, so that a result of 0 has a unit too.
  return static_cast<double>(std::nextafter(a, std::numeric_limits<T>::infinity())) -
         static_cast<double>(a);
}

// The bound in units of the exact result, or of the largest number in sight where terms cancel.
template <class T>
double tolerance(const OpDef& op, double bound, double x, double exact) {
  double unit = ulp_of<T>(exact);
  // As OpDef::f32_cancels defines it: the unit is also an ulp of the largest number among 1 and x.
  // A finite result of an infinite argument is a limit, in which nothing cancels.
  if (op.f32_cancels && std::isfinite(x))
    unit = std::max(unit, ulp_of<T>(std::max(1.0, std::abs(x))));
  // Half an ulp of its product x * 1.702 changes the exponential by that number of half ulps.
  if (op.id == "activation.quick_gelu") bound += std::abs(x * 1.702);
  return bound * unit;
}

template <class T>
void expect_row(const FunctionRow& row, const std::vector<double>& points,
                const std::vector<T>& actual, double bound) {
  const OpDef& op = *builtin_ops().find(row.id);
  ASSERT_EQ(actual.size(), row.expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    const double exact = row.expected[i];
    // Rounded first: an exact value past the largest float must come out as infinity.
    const auto rounded = static_cast<T>(exact);
    if (!std::isfinite(rounded)) {
      EXPECT_TRUE(same_bits(actual[i], rounded))
          << row.id << "(" << points[i] << ") is " << actual[i];
      continue;
    }
    // A denormal factor has few bits; their product keeps no more.
    // 1,000 times the smallest normal number covers products such as x * sigmoid(x) at -87, whose
    // second factor is denormal. Arguments of size 1 or less have no such factor, and stay in.
    const bool is_tiny = exact != 0 && std::abs(exact) < 1000.0 * std::numeric_limits<T>::min();
    if (is_tiny && std::abs(points[i]) > 1) continue;
    EXPECT_NEAR(static_cast<double>(actual[i]), exact, tolerance<T>(op, bound, points[i], exact))
        << row.id << "(" << points[i] << ")";
  }
}

// Every function of one argument against its values in 40 digits.
TEST(FunctionValues, F32StaysWithinTheDocumentedBound) {
  const auto n = static_cast<int64_t>(kPoints32.size());
  for (const FunctionRow& row : kRows32) {
    const auto y = run_f32(row.id, {f32(Shape{n}, narrowed(kPoints32))});
    expect_row<float>(row, kPoints32, y, builtin_ops().find(row.id)->f32_bound);
  }
}

// 4 ulp for the functions themselves, 8 for what is made of several of them.
TEST(FunctionValues, F64StaysWithinEightUlp) {
  const auto n = static_cast<int64_t>(kPoints64.size());
  for (const FunctionRow& row : kRows64) {
    const auto y = run_f64(row.id, {f64(Shape{n}, kPoints64)});
    // For f64 numerics promises 4 ulp for the functions; the registry has a bound for f32 only.
    expect_row<double>(row, kPoints64, y, row.id.starts_with("math.") ? 4 : 8);
  }
}

// Functions whose sign follows the argument's: f(-x) = -f(x), bit for bit.
TEST(FunctionValues, OddFunctionsAreOdd) {
  // Spread 4 puts most of the 500 numbers on the curved parts; a fixed seed keeps a failure
  // repeatable.
  for (const char* id : {"math.sin", "activation.tanh", "math.erf", "activation.softsign",
                         "activation.tanh_shrink", "elementwise.neg"}) {
    const auto x = narrowed(normals(500, 5, 4));
    std::vector<float> minus(x);
    for (float& v : minus) v = -v;
    const auto y = run_f32(id, {f32(Shape{500}, x)}), z = run_f32(id, {f32(Shape{500}, minus)});
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_TRUE(same_bits(y[i], -z[i])) << id << " of " << x[i];
    }
  }
}

// The reduction must not depend on the sign.
TEST(FunctionValues, CosIsEven) {
  // Spread 100 spans some 30 periods, so that the reduction takes part.
  const auto x = narrowed(normals(500, 6, 100));
  std::vector<float> minus(x);
  for (float& v : minus) v = -v;
  EXPECT_TRUE(all_same_bits(run_f32("math.cos", {f32(Shape{500}, x)}),
                            run_f32("math.cos", {f32(Shape{500}, minus)})));
}

// A monotonic function may round neighbours to one value, but never swaps them.
TEST(FunctionValues, MonotonicFunctionsNeverFall) {
  // From -15.6 to 15.6 in steps of 1/256, exact in f32. A fall by one ulp where two pieces of a
  // function meet fails.
  std::vector<float> x;
  for (int i = -4000; i <= 4000; ++i) x.push_back(static_cast<float>(i) * 0x1p-8f);
  const auto n = static_cast<int64_t>(x.size());
  for (const char* id :
       {"math.exp", "activation.expm1", "activation.tanh", "math.erf", "activation.sigmoid",
        "activation.softplus", "activation.log_sigmoid", "activation.elu", "activation.selu",
        "activation.softsign", "activation.hard_sigmoid", "activation.relu", "activation.celu"}) {
    const auto y = run_f32(id, {f32(Shape{n}, x)});
    for (size_t i = 1; i < y.size(); ++i) ASSERT_LE(y[i - 1], y[i]) << id << " at " << x[i];
  }
}

// What the documentation says of the ends; NaN goes in and comes out of each of them.
struct Ends {
  std::string_view id;
  float at_minus_infinity, at_infinity, at_minus_zero, at_zero;
};

// The table is in f32, the points above in f64.
constexpr auto kInf32 = std::numeric_limits<float>::infinity();
constexpr auto kNaN32 = std::numeric_limits<float>::quiet_NaN();

// What the documents promise at infinities, zeros and the ends of a domain.
TEST(FunctionValues, EndsAndZeros) {
  const std::vector<Ends> table = {
      {"math.exp", 0.0f, kInf32, 1, 1},
      // The logarithm of both zeros is -infinity: the sign of a zero is no negative argument.
      {"math.log", kNaN32, kInf32, -kInf32, -kInf32},
      {"activation.log1p", kNaN32, kInf32, -0.0f, 0.0f},
      {"activation.expm1", -1, kInf32, -0.0f, 0.0f},
      {"math.sin", kNaN32, kNaN32, -0.0f, 0.0f},
      {"math.cos", kNaN32, kNaN32, 1, 1},
      {"activation.tanh", -1, 1, -0.0f, 0.0f},
      {"math.erf", -1, 1, -0.0f, 0.0f},
      {"activation.sigmoid", 0.0f, 1, 0.5f, 0.5f},
      // -softplus(-inf) is -(+0): the zero of a negation.
      {"activation.log_sigmoid", -kInf32, -0.0f, -0.69314718f, -0.69314718f},
      // log(2), as f32.
      {"activation.softplus", 0.0f, kInf32, 0.69314718f, 0.69314718f},
      // swish and the functions below that are x times a factor: -inf times 0 is NaN by IEEE, and
      // the documents say so.
      {"activation.swish", kNaN32, kInf32, -0.0f, 0.0f},
      {"activation.quick_gelu", kNaN32, kInf32, -0.0f, 0.0f},
      {"activation.mish", kNaN32, kInf32, -0.0f, 0.0f},
      {"activation.gelu", kNaN32, kInf32, -0.0f, 0.0f},
      {"activation.gelu_tanh", kNaN32, kInf32, -0.0f, 0.0f},
      {"activation.softsign", kNaN32, kNaN32, -0.0f, 0.0f},
      {"activation.elu", -1, kInf32, -0.0f, 0.0f},
      // The sum of +0 and a zero is +0, unlike elu's own zero.
      {"activation.celu", -1, kInf32, 0.0f, 0.0f},
      {"activation.relu", 0.0f, kInf32, 0.0f, 0.0f},
      {"activation.hard_sigmoid", 0.0f, 1, 0.5f, 0.5f},
      {"activation.hard_swish", kNaN32, kInf32, -0.0f, 0.0f},
      {"activation.hard_tanh", -1, 1, -0.0f, 0.0f},
      {"elementwise.sqrt", kNaN32, kInf32, -0.0f, 0.0f},
      {"math.sign", -1, 1, 0.0f, 0.0f},
  };
  for (const Ends& row : table) {
    // NaN is the fifth point of every row.
    const auto y = run_f32(row.id, {f32(Shape{5}, {-kInf32, kInf32, -0.0f, 0.0f, kNaN32})});
    const std::vector<float> expected = {row.at_minus_infinity, row.at_infinity, row.at_minus_zero,
                                         row.at_zero, kNaN32};
    EXPECT_TRUE(all_same_bits(y, expected)) << row.id;
  }
}

}  // namespace
}  // namespace quern::test
